"""What exercise 05 looks for, held against what its own kernels do: the solution's counters are the
arithmetic of its tiles, and each step that lacks a mechanism is seen to lack it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from common.build.program import Target
from common.virtual_gpu.report import Counters
from grader.building.build import build
from grader.devices.on_virtual.session import VirtualSession
from grader.spec import Case, Exercise, Size, Step, Task, registry
from grader.spec.evidence import Evidence
from grader.spec.random_inputs import Random

EXERCISE = registry.find("05")
STEPS = {step.entry: step for step in EXERCISE.steps}
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
MECHANISMS = sys.modules["exercise_05_flash_attention.mechanisms"]
ROWS, KEYS, WARPS = 64, 32, 4  # of a block of the solution
SIZES: dict[str, Any] = {
    "batch": st.integers(1, 2),
    "heads": st.integers(1, 2),
    "causal": st.integers(0, 1),
    "rows_apart": st.integers(0, 1),
}
a_handful = settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])


@functools.cache
def session(source: Path) -> VirtualSession:
    built = build(source, Target.virtual())
    assert built.library is not None, built.message
    return VirtualSession(built.library)


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    for source in (EXERCISE.solution, EXERCISE.baseline):
        session(source).close()


def seen(task: Task, case: Case, source: Path = EXERCISE.solution) -> Evidence:
    outcome = session(source).run(task.entry, task.inputs(case.size, Random("drawn")), 20)
    assert outcome.ok, outcome.message
    return Evidence(case, outcome.report.launches, ())


def counters(evidence: Evidence) -> Counters:
    (launch,) = evidence.launches
    return launch.counters


def tiles_of_keys(size: Size) -> list[int]:
    """How many of them each tile of queries meets, by the first row of it."""
    ends = (
        min(size.length, first + ROWS) if size.causal else size.length
        for first in range(0, size.length, ROWS)
    )
    return [-(-end // KEYS) for end in ends]


@given(
    st.builds(
        SHAPES.attention,
        st.just("d"),
        length=st.integers(1, 150),
        head_dim=st.sampled_from((64, 128)),
        **SIZES,
    )
)
@a_handful
def test_the_solutions_counters_are_the_arithmetic_of_its_tiles(case: Case) -> None:
    size = case.size
    evidence = seen(EXERCISE, case)
    found, heads, row_bytes = counters(evidence), size.batch * size.heads, 2 * size.head_dim
    steps = sum(tiles_of_keys(size))
    # A warp's 16 rows and 32 keys: 4 tiles of keys by head_dim / 16, then head_dim / 8 by 2 sixteens of keys.
    assert found.matrix_instructions == heads * WARPS * steps * (
        4 * size.head_dim // 16 + 2 * size.head_dim // 8
    )
    copied_rows = size.length + 2 * sum(min(size.length, KEYS * tiles) for tiles in tiles_of_keys(size))
    assert found.async_bytes == heads * copied_rows * row_bytes
    assert found.global_load_bytes == 0
    assert found.global_store_bytes == heads * size.length * row_bytes
    assert found.shared_load_conflicts == found.shared_store_conflicts == 0
    # Output alone, 4 bytes a lane: scores and weights are never there.
    rows_stored = len(tiles_of_keys(size)) * ROWS
    assert found.shared_store_requests == heads * rows_stored * row_bytes // (4 * 32)
    assert found.matrix_instructions >= SHAPES.products(size) // (2 if size.causal else 1)
    for mechanism in (MECHANISMS.TensorCores(), MECHANISMS.ScoresInRegisters(), MECHANISMS.NoBankConflicts()):
        assert mechanism.look(evidence) is None


@given(st.builds(SHAPES.attention, st.just("d"), length=st.integers(17, 150), **SIZES))
@a_handful
def test_each_step_has_what_it_adds_and_lacks_what_comes_later(case: Case) -> None:
    wanted = {  # tensor cores, scores in registers, cp.async, no bank conflicts
        "attend_scalar": (False, True, False, True),
        "attend_wmma": (True, False, False, False),
        "attend_in_registers": (True, True, False, False),
        "attend_async": (True, True, True, False),
        "attend_ahead": (True, True, True, False),
        "attend_swizzled": (True, True, True, True),
    }
    asynchronous = next(one for one in EXERCISE.mechanisms if "cp.async" in one.name)
    looked_for = (
        MECHANISMS.TensorCores(),
        MECHANISMS.ScoresInRegisters(),
        asynchronous,
        MECHANISMS.NoBankConflicts(),
    )
    for entry, there in wanted.items():
        evidence = seen(STEPS[entry], case)
        assert tuple(one.look(evidence) is None for one in looked_for) == there, entry


def ahead_of(task: Exercise | Step) -> Any:
    (ahead,) = [one for one in task.mechanisms if one.name == "copies run ahead of the products"]
    return ahead


def copies_run_ahead(evidence: Evidence) -> bool:
    return ahead_of(EXERCISE).look(evidence) is None


def many_rows(head_dim: int = 64) -> Case:
    case: Case = SHAPES.attention("many rows", length=264, head_dim=head_dim)
    return case


@pytest.mark.parametrize("head_dim", [64, 128])
def test_all_but_the_first_tile_of_the_solution_travels_beside_products(head_dim: int) -> None:
    case = many_rows(head_dim)
    evidence = seen(EXERCISE, case)
    found, tiles = counters(evidence), tiles_of_keys(case.size)
    assert found.async_waited_bytes == found.async_bytes
    assert found.async_ahead_bytes == len(tiles) * 2 * (case.size.length - KEYS) * 2 * head_dim
    # The queries once, then a wait for every tile of keys.
    assert found.async_waits == WARPS * sum(1 + steps for steps in tiles)
    assert copies_run_ahead(evidence)


def test_copies_run_ahead_from_the_step_on_that_is_about_it() -> None:
    for entry, step in STEPS.items():
        assert copies_run_ahead(seen(step, many_rows())) is (entry in {"attend_ahead", "attend_swizzled"})
    assert not copies_run_ahead(seen(EXERCISE, many_rows(), EXERCISE.baseline))


@pytest.mark.parametrize(
    ("task", "sizes"),
    [(EXERCISE, {64, 128}), (STEPS["attend_ahead"], {64}), (STEPS["attend_swizzled"], {64})],
    ids=["whole", "ahead", "swizzled"],
)
def test_copies_are_looked_for_at_every_size_of_heads(task: Exercise | Step, sizes: set[int]) -> None:
    """In the cases that the virtual GPU is given: in short ones it would not show."""
    long_enough = [case.size for case in task.cases if ahead_of(task).shows(case.size) and not case.gpu_only]
    assert {size.head_dim for size in long_enough} == sizes


@pytest.mark.parametrize(
    ("blocks", "passes"), [((660, 1, 1), True), ((4, 15, 11), True), ((661, 1, 1), False)]
)
def test_more_blocks_than_run_at_once_are_seen(blocks: tuple[int, int, int], passes: bool) -> None:
    launch: Any = SimpleNamespace(
        kernel="flash_kernel", grid=blocks, occupancy=SimpleNamespace(blocks_per_sm=5)
    )
    stated = MECHANISMS.Persistent().look(Evidence(EXERCISE.cases[0], [launch], ()))
    assert (stated is None) is passes


@pytest.mark.parametrize("name", [EXERCISE.mechanism_case, *EXERCISE.more_mechanism_cases])
def test_mechanisms_are_looked_at_where_blocks_have_more_than_a_tile(name: str) -> None:
    """With fewer tiles than blocks that run at once, every kernel looks like a persistent one."""
    case = EXERCISE.case(name)
    tiles = case.size.batch * case.size.heads * len(tiles_of_keys(case.size))
    most = {64: 5, 128: 2}[case.size.head_dim]
    assert tiles > most * Evidence(case, (), ()).multiprocessors


def test_mechanisms_are_looked_at_for_heads_of_either_size() -> None:
    names = (EXERCISE.mechanism_case, *EXERCISE.more_mechanism_cases)
    assert {EXERCISE.case(name).size.head_dim for name in names} == {64, 128}
