"""What follows from what: one cause is shown, and findings that do not belong to it stay apart."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from common.virtual_gpu.causes import STRENGTH, TABLE, by_cause
from common.virtual_gpu.decode import ENGINE
from common.virtual_gpu.finding import Finding, Place
from common.virtual_gpu.render import render_findings
from common.virtual_gpu.report import Report

KINDS = {"UnwrittenShared": "init", "OutOfBounds": "memory", "WrappedOffset": "memory", "Hang": "hang"}


def found(mistake: str, line: int, other: int = 0, allocation: str = "") -> Finding:
    return Finding(
        kind=KINDS.get(mistake, "race"),
        message=f"{mistake} at {line}",
        mistake=mistake,
        place=(Place("kernel.cu", line),),
        other=(Place("kernel.cu", other),) if other else (),
        kernel="attend<4>(float*)",
        allocation=allocation,
    )


def lines(*findings: Finding) -> list[tuple[int, list[int]]]:
    """The line of each cause, and of what follows from it."""
    return [(cause.finding.line, [effect.line for effect in cause.effects]) for cause in by_cause(findings)]


def test_every_mistake_in_the_table_is_one_of_the_engines():
    known = set(
        re.findall(r"^MISTAKE\(k(\w+),", (ENGINE / "checks" / "mistakes.def").read_text(), re.MULTILINE)
    )
    named = [name for row in TABLE for name in row.causes | row.effects]
    assert set(named) <= known
    ranked = [name for group in STRENGTH for name in group]
    assert set(ranked) == set(named)
    assert len(ranked) == len(set(ranked))


def test_an_uninitialised_read_follows_from_the_race_at_its_line_though_it_was_seen_first():
    init, race = found("UnwrittenShared", 20), found("RaceWithWrite", 20, 10)
    assert lines(init, race) == [(20, [20])]
    assert by_cause([init, race])[0].finding is race


def test_an_uninitialised_read_elsewhere_is_a_cause_of_its_own():
    assert lines(found("UnwrittenShared", 40), found("RaceWithWrite", 20, 10)) == [(40, []), (20, [])]


def test_a_race_between_warps_explains_one_inside_a_warp_that_was_seen_first():
    in_warp = replace(found("RaceWithWrite", 20, 10), between="lanes")
    between_warps = replace(found("RaceWithRead", 10, 20), between="warps")
    (cause,) = by_cause([in_warp, between_warps])
    assert cause.finding is between_warps
    assert cause.effects == (in_warp,)


def test_two_barriers_that_are_missing_are_two_causes():
    assert lines(found("RaceWithWrite", 20, 10), found("RaceWithWrite", 60, 50)) == [(20, []), (60, [])]


def test_a_wrapped_index_explains_all_that_lies_out_of_bounds_in_its_kernel():
    wide = found("OutOfBounds", 30, allocation="out")
    assert lines(wide, found("WrappedOffset", 31, allocation="in")) == [(31, [30])]
    elsewhere = Finding("memory", "in another kernel", "OutOfBounds", kernel="store(int)")
    assert len(by_cause([found("WrappedOffset", 31), elsewhere])) == 2


def test_what_was_unwritten_before_an_access_out_of_bounds_does_not_follow_from_it():
    beyond, unwritten = found("OutOfBounds", 30), found("UnwrittenShared", 40)
    assert lines(beyond, unwritten) == [(30, [40])]
    assert lines(unwritten, beyond) == [(40, []), (30, [])]


def test_one_wait_that_is_missing_is_one_cause_wherever_the_copies_are_used():
    uses = [replace(found("UseOfOwnCopy", line, line - 1), advice="Wait.") for line in (20, 30, 40)]
    assert lines(*uses) == [(20, [30, 40])]
    assert lines(uses[0], replace(uses[1], advice="Put a commit.")) == [(20, []), (30, [])]


def test_a_copy_that_is_not_possible_explains_the_wait_for_its_bytes():
    assert lines(found("BulkOperand", 20), found("Hang", 30)) == [(20, [30])]
    assert lines(found("Hang", 30), found("BulkOperand", 20)) == [(30, []), (20, [])]


def test_a_chain_has_one_cause():
    chain = (found("UseOfOwnCopy", 20, 10), found("RaceWithWrite", 30, 10), found("UnwrittenShared", 30))
    assert lines(*chain) == [(20, [30, 30])]


def test_what_follows_is_one_line_of_text_and_all_of_it_is_in_the_data():
    findings = (found("RaceWithWrite", 20, 10), found("RaceWithRead", 10, 20), found("UnwrittenShared", 20))
    text = render_findings(findings)
    assert text.endswith("2 more findings follow from it: race at kernel.cu:10; init at kernel.cu:20.\n")
    assert "RaceWithRead" not in text
    data = Report(findings=findings).to_dict()
    assert [one["follows_from"] for one in data["findings"]] == [None, 0, 0]
    assert Report.from_dict(data).findings == findings


@pytest.mark.parametrize("mistake", ["Assertion", ""])
def test_what_the_table_does_not_know_stays_apart(mistake: str):
    assert lines(found(mistake, 20), found("RaceWithWrite", 20, 10)) == [(20, []), (20, [])]
