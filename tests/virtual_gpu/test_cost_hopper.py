"""Hopper's asynchronous units in the cost model: who waits for what, and what runs beside what."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.build.resources import resources_in, write_for_engine
from common.core.paths import REPOSITORY
from common.virtual_gpu.profiles import find_profile
from common.virtual_gpu.report import Launch
from common.virtual_gpu.session import run_program

SOURCE = Path(__file__).parent / "hopper" / "cost.cu"
HERTZ = find_profile("h200").clock_ghz * 1e9
TILE_BYTES = 16384


@cache
def program() -> Path:
    return build_program(
        [SOURCE],
        Target.virtual("90a"),
        include_dirs=(REPOSITORY / "common" / "cuda",),
        host_optimisation="-O1",
    ).path


@cache
def launch_of(name: str, count: int, threads: int = 2) -> Launch:
    kernels = resources_in(program(), "sm_90a")
    assert kernels is not None
    with tempfile.TemporaryDirectory() as folder:
        run = run_program(
            program(),
            [name, str(count)],
            options={"threads": threads},
            resources=write_for_engine(kernels, Path(folder)),
            timeout=60,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    assert run.status == 0, run.stderr
    assert run.report.findings == ()
    (launch,) = run.report.launches
    return launch


def cycles(name: str, count: int) -> float:
    return launch_of(name, count).cost.body_seconds * HERTZ


def per_round(name: str, few: int, many: int) -> float:
    """Cycles that each further round takes."""
    return (cycles(name, many) - cycles(name, few)) / (many - few)


NAMES = ("one_stage", "two_stages", "four_stages", "many_warps_wait", "products_and_sums", "turns", "stores")


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_has_a_time(name: str):
    assert launch_of(name, 2).not_modelled == ""
    assert launch_of(name, 2).waits_at == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_time_does_not_depend_on_how_the_engine_ran(name: str):
    assert launch_of(name, 8, threads=1).modelled_seconds == launch_of(name, 8, threads=2).modelled_seconds


def test_a_second_stage_hides_the_copies_and_a_single_one_cannot():
    """The warp works 450 cycles on a tile, and the copy of one takes about as long."""
    one, two, four = (per_round(name, 8, 24) for name in ("one_stage", "two_stages", "four_stages"))
    assert two < 0.7 * one
    assert four < 1.02 * two
    assert one > 450 + find_profile("h200").l2_latency_cycles
    assert four > 450


def test_all_who_wait_for_a_copy_go_on_when_it_has_come():
    """They wait for the thread that asks and then for memory, however often the engine lets them look."""
    assert cycles("many_warps_wait", 4000) - cycles("many_warps_wait", 0) == pytest.approx(
        cycles("two_warps_wait", 4000) - cycles("two_warps_wait", 0), rel=0.05
    )
    assert cycles("many_warps_wait", 4000) - cycles("many_warps_wait", 0) > 4 * 4000
    assert cycles("two_warps_wait", 0) > find_profile("h200").dram_latency_cycles + TILE_BYTES / 128


def test_products_take_half_a_cycle_for_each_column():
    """Four products of 64 columns in a group, and what begins and ends a group."""
    assert 4 * 32 < per_round("products", 16, 48) < 4 * 32 + 120
    launch = launch_of("products", 48)
    assert launch.cost.terms["tensor"] * HERTZ == pytest.approx(48 * 4 * 32, rel=0.05)


def test_products_run_beside_the_arithmetic_of_other_warps():
    """Alone the products take about 200 cycles a round, and the chain of the other warpgroup 130."""
    alone, together = (cycles(name, 48) for name in ("products", "products_and_sums"))
    assert together < alone + 48 * 100


def test_who_takes_turns_waits_for_the_other():
    """Two chains of ten, one behind the other, two barriers of 44 cycles, and what the loops need."""
    assert 2 * 45 + 2 * 44 < per_round("turns", 8, 40) < 400


def test_a_store_that_is_waited_for_takes_its_bytes():
    least = TILE_BYTES / 32
    assert least < per_round("stores", 8, 24) < 1.5 * least
