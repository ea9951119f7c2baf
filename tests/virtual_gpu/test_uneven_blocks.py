"""The cost model on launches whose blocks differ: none takes less than its heaviest block alone."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.build.resources import KernelResources, resources_of, write_for_engine
from common.virtual_gpu.report import Cost
from common.virtual_gpu.session import run_program

SOURCE = Path(__file__).parent / "uneven" / "uneven.cu"
QUICK = dict.fromkeys(("memory", "race", "init", "sync", "async"), "off")
NEAR = 0.98  # an outline is shorter than a trace, and knows less of L1
SEEDS = (0, 1, 77, 123456789)
PLACES = (0, 0.4, 0.6, 1)  # of the heavy block: first, early, late, last
AMOUNT = {"copies": 200_000, "follows": 300, "follows_in_one_warp": 4_000}


@cache
def built() -> Path:
    return build_program([SOURCE], Target.virtual(), host_optimisation="-O1").path


@cache
def resources() -> tuple[KernelResources, ...]:
    return tuple(resources_of(built(), SOURCE, "sm_90"))


@cache
def cost_of(kernel: str, blocks: int, worker: int, amount: int, seed: int = 0, threads: int = 2) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        run = run_program(
            built(),
            [kernel, str(blocks), str(worker), str(amount)],
            options={**QUICK, "cost_seed": seed, "threads": threads},
            resources=write_for_engine(resources(), Path(folder)),
            timeout=120,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    assert run.status == 0, run.stdout + run.stderr
    (launch,) = run.report.launches
    return launch.cost


@pytest.mark.parametrize(("place", "seed"), [(PLACES[i], SEEDS[j % 4]) for i in range(4) for j in (i, i + 1)])
@pytest.mark.parametrize("blocks", [7, 264, 2000])
@pytest.mark.parametrize("kernel", AMOUNT)
def test_one_heavy_block_takes_as_long_among_others_as_alone(
    kernel: str, blocks: int, place: float, seed: int
):
    worker = round(place * (blocks - 1))
    alone = cost_of(kernel, 1, 0, AMOUNT[kernel])
    among = cost_of(kernel, blocks, worker, AMOUNT[kernel], seed)
    assert among.body_seconds >= NEAR * alone.body_seconds
    assert among.round_trips >= NEAR * alone.round_trips
    assert among.body_seconds < 1.5 * alone.body_seconds


def test_the_sentence_names_the_block_that_does_most():
    cost = cost_of("copies", 264, 165, AMOUNT["copies"])
    assert cost.limiter == "latency"
    assert cost.sentence.endswith("each bound it, in block 165, which does most")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("blocks", [20, 132, 500])
def test_a_ramp_takes_at_least_its_last_block(blocks: int, seed: int):
    last = cost_of("ramp", blocks, blocks - 1, 2, seed)
    all_of_it = cost_of("ramp", blocks, -1, 2, seed)
    assert all_of_it.body_seconds >= NEAR * last.body_seconds
    assert all_of_it.round_trips >= NEAR * last.round_trips


@pytest.mark.parametrize("worker", [3, 9])
def test_many_heavy_blocks_take_their_turns_whether_sampled_or_not(worker: int):
    """Eight blocks of 256 threads fit an SM: of 33,792 blocks two waves' worth are at work."""
    alone = cost_of("some_follow", 16, worker, 100)
    for seed in SEEDS:
        many = cost_of("some_follow", 33_792, worker, 100, seed)
        assert many.body_seconds >= 1.9 * alone.body_seconds


@pytest.mark.parametrize("seed", SEEDS)
def test_two_heavy_blocks_on_one_sm_take_longer_than_one_on_each(seed: int):
    """Of 264 blocks half compute: both blocks of every other SM, or the first of every SM."""
    one_on_each = cost_of("some_compute", 264, 132, 2_000, seed)
    two_on_half = cost_of("some_compute", 264, 66, 2_000, seed)
    assert 1.5 < two_on_half.body_seconds / one_on_each.body_seconds < 2.1


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_wait_take_turns_beside_blocks_that_run_more_instructions(seed: int):
    """Eight blocks fit an SM, 1,056 all of them. Of twice as many some wait after others that waited, and
    find in L2 what those fetched."""
    one_wave = cost_of("most_follow", 1056, 1, 300, seed)
    two_waves = cost_of("most_follow", 2112, 1, 300, seed)
    assert two_waves.body_seconds >= 1.3 * one_wave.body_seconds


def test_blocks_that_do_the_same_have_no_straggler():
    cost = cost_of("some_follow", 1, 0, 300)
    assert "which does most" not in cost.sentence
    assert cost.round_trips == 300


@pytest.mark.parametrize(
    ("kernel", "blocks", "worker", "amount"),
    [("copies", 264, 100, 200_000), ("ramp", 132, -1, 2), ("some_follow", 2000, 5, 50)],
)
def test_time_does_not_depend_on_cpu_threads(kernel: str, blocks: int, worker: int, amount: int):
    costs = [cost_of(kernel, blocks, worker, amount, 0, threads) for threads in (1, 2, 3)]
    assert costs[0] == costs[1] == costs[2]
