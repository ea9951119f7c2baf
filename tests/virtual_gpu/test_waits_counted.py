"""What the virtual GPU counts of waits: for wgmma, of how many products are in flight, and at an mbarrier.
Hardware has no such counter, so these figures follow from what a program does."""

from __future__ import annotations

import subprocess
from functools import cache

from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY, FOLDER
from common.build.program import Target, build_program
from common.virtual_gpu.report import Launch
from common.virtual_gpu.session import run_program

WARPS = 4


@cache
def launch_of(program: str) -> Launch:
    built = build_program([FOLDER / f"{program}.cu"], Target.virtual(CAPABILITY))
    ran = run_program(built.path, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert ran.report.findings == ()
    (launch,) = ran.report.launches
    return launch


def test_a_wait_that_leaves_a_group_in_flight_is_counted_and_the_last_one_is_not() -> None:
    """Two groups are begun, and after each wait for the older one another group: three waits for all but the
    newest, and one for all."""
    counters = launch_of("wgmma_groups").counters
    assert (counters.wgmma_waits, counters.wgmma_open_waits) == (4 * WARPS, 3 * WARPS)


def test_waits_for_all_leave_nothing_in_flight() -> None:
    counters = launch_of("epilogue").counters
    assert counters.wgmma_waits > 0
    assert counters.wgmma_open_waits == 0


def test_waits_are_counted_at_their_lines() -> None:
    launch = launch_of("wgmma_groups")
    assert sum(line.counters.wgmma_open_waits for line in launch.lines) == launch.counters.wgmma_open_waits


def test_a_wait_at_an_mbarrier_counts_once_however_often_it_looks() -> None:
    """Two blocks of four warps wait for each of five phases."""
    assert launch_of("mbarrier_expect").counters.mbarrier_waits == 2 * WARPS * 5
