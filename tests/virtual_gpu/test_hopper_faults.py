"""Every faulty program for sm_90a is found out at its line; its corrected twin is right and silent."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks.virtual_gpu.faults.corpus import Fault
from benchmarks.virtual_gpu.hopper_faults.corpus import hopper_faults
from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

FAULTS = hopper_faults()
LIMIT_SECONDS = 60.0
# Where several findings share their kind: the mistake that the report shows as the cause.
CAUSES = {
    "async_changed_map_not_acquired": "StaleTensorMap",
    "async_changed_map_not_released": "StaleTensorMap",
    "async_copies_back_what_is_being_stored": "ReadOfBulkStore",
    "async_copy_into_an_inbox_the_neighbour_reads": "BulkOverNeighbour",
    "async_copy_of_stores_without_global_fence": "MissingGlobalProxyFence",
    "async_last_block_sums_stores_under_way": "ReadOfBulkStore",
    "async_multicast_into_a_stage_the_neighbour_reads": "BulkOverNeighbour",
    "async_reads_back_what_is_being_stored": "ReadOfBulkStore",
    "async_stage_freed_before_the_product_is_over": "BulkOverUse",
    "async_tensor_copy_of_another_blocks_stores": "MissingGlobalProxyFence",
}


@cache
def corpus(fixed: bool) -> ProgramsTogether:
    defines = ["FIXED"] if fixed else []
    paths = [fault.path for fault in FAULTS]
    return build_together(paths, cc="90a", defines=defines, host_optimisation="-O1")


@cache
def run(fault: Fault, fixed: bool) -> RunReport:
    return corpus(fixed).run(fault.name, timeout=LIMIT_SECONDS)


def stated(ran: RunReport) -> str:
    findings = [f"{found.kind} {found.file}:{found.line} {found.message}" for found in ran.report.findings]
    return "\n".join([ran.ending, *findings, ran.stdout, ran.stderr])


named = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@named
def test_a_mistake_is_found_at_its_line(fault: Fault):
    ran = run(fault, False)
    found = [finding for finding in ran.report.findings if finding.kind in fault.kinds]
    assert any(
        finding.line in fault.lines and Path(finding.file).name == fault.path.name for finding in found
    ), stated(ran)
    others = {place.line for finding in found for place in finding.other}
    assert not fault.other_lines or others & fault.other_lines, stated(ran)


@named
def test_nothing_but_marked_lines_is_blamed(fault: Fault):
    """A launch that hangs after the mistake was found is a consequence of it."""
    ran = run(fault, False)
    marked = fault.lines | fault.other_lines
    astray = {found.line for found in ran.report.findings if found.kind != "hang"} - marked
    assert astray == set(), stated(ran)


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_the_mistake_that_was_made(name: str):
    [fault] = [fault for fault in FAULTS if fault.name == name]
    ran = run(fault, False)
    assert {cause.finding.mistake for cause in by_cause(ran.report.findings)} == {CAUSES[name]}, stated(ran)


@named
def test_every_finding_says_what_to_try(fault: Fault):
    assert all(finding.message and finding.advice for finding in run(fault, False).report.findings)


@named
def test_the_corrected_twin_is_right_and_silent(fault: Fault):
    ran = run(fault, True)
    assert ran.status == 0, stated(ran)
    assert "result: right" in ran.stdout, stated(ran)
    assert ran.report.findings == (), stated(ran)
    assert ran.report.leaks == (), stated(ran)
