"""Every faulty program is found out, with the right kind at the right line; its corrected twin is silent."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks.virtual_gpu.faults.corpus import Fault, all_faults
from common.virtual_gpu.report import Finding
from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

FAULTS = all_faults()
FOUND = [fault for fault in FAULTS if not fault.wrong_result]
WRONG = [fault for fault in FAULTS if fault.wrong_result]
LIMIT_SECONDS = 60.0
# A hang is one long before the default budget is spent; this saves seconds.
HANG_OPTIONS = {"max_warp_instructions": 5_000_000}
# Unmarked lines that suffer from the mistake: an access that is suppressed leaves its target unwritten.
CONSEQUENCES = {"memory_async_copy_past_end": {("init", 22)}}


@cache
def corpus(fixed: bool) -> ProgramsTogether:
    """All the faulty programs, or their twins. Apart, because FIXED changes the header that they share."""
    defines = ["FIXED"] if fixed else []
    return build_together([fault.path for fault in FAULTS], defines=defines, host_optimisation="-O1")


@cache
def run(fault: Fault, fixed: bool) -> RunReport:
    return corpus(fixed).run(fault.name, options=HANG_OPTIONS if fault.hangs else None, timeout=LIMIT_SECONDS)


def named(faults: list[Fault]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fault", faults, ids=lambda fault: fault.name)


def stated(ran: RunReport) -> str:
    findings = [
        f"{finding.kind} {finding.file}:{finding.line} {finding.message}" for finding in ran.report.findings
    ]
    leaks = [leak.message for leak in ran.report.leaks]
    return "\n".join([ran.ending, *findings, *leaks, ran.stdout, ran.stderr])


def points_at(finding: Finding, fault: Fault) -> bool:
    """The right kind, file and line; and the other side, where one is marked."""
    if finding.kind not in fault.kinds or finding.line not in fault.lines:
        return False
    others = {place.line for place in finding.other if Path(place.file).name == fault.path.name}
    return Path(finding.file).name == fault.path.name and (
        not fault.other_lines or bool(others & fault.other_lines)
    )


def test_the_corpus_is_wide_enough():
    assert len(FAULTS) >= 25
    assert {kind for fault in FAULTS for kind in fault.kinds} >= {
        *("memory", "race", "init", "sync", "async", "hang", "host", "leak")
    }


@named(FOUND)
def test_a_mistake_is_found_at_its_line(fault: Fault):
    ran = run(fault, False)
    if fault.kinds == {"leak"}:  # leaks are listed apart
        assert [leak.line for leak in ran.report.leaks] == sorted(fault.lines), stated(ran)
        return
    assert any(points_at(finding, fault) for finding in ran.report.findings), stated(ran)
    assert (ran.status == 0) != fault.segfaults, stated(ran)


@named(FOUND)
def test_nothing_else_is_blamed(fault: Fault):
    """A student who follows any of the findings ends up at the mistake."""
    ran = run(fault, False)
    marked = fault.lines | fault.other_lines
    astray = {
        (finding.kind, finding.line)
        for finding in ran.report.findings
        if finding.line not in marked or Path(finding.file).name != fault.path.name
    }
    assert astray == CONSEQUENCES.get(fault.name, set()), stated(ran)


@named(FOUND)
def test_a_finding_says_who_and_what_to_try(fault: Fault):
    for finding in run(fault, False).report.findings:
        assert finding.message
        assert finding.advice
        assert finding.count >= 1
        on_device = finding.kind != "host" and finding.launch >= 0
        assert not on_device or (finding.kernel and finding.block is not None), finding


@named(WRONG)
def test_a_missing_wait_between_streams_shows_in_the_result(fault: Fault):
    ran = run(fault, False)
    assert "result: wrong" in ran.stdout, stated(ran)


@named(FAULTS)
def test_the_corrected_twin_is_right_and_silent(fault: Fault):
    ran = run(fault, True)
    assert ran.status == 0, stated(ran)
    assert "result: right" in ran.stdout, stated(ran)
    assert ran.report.findings == (), stated(ran)
    assert ran.report.leaks == (), stated(ran)
