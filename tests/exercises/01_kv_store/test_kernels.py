"""Exercise 01's own kernels on the virtual GPU: right for every case, no finding, the mechanisms seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.virtual_gpu.device import Library, VirtualGpu
from common.worker.calls import Number
from grader.building.build import kernel_resources
from grader.course import starters
from grader.spec import Case, registry
from grader.spec.evidence import Evidence
from grader.spec.random_inputs import Random
from tests.exercises.kernel_call import built, call

EXERCISE = registry.find("01")
KERNELS = (EXERCISE.baseline, EXERCISE.solution, *EXERCISE.variants())
VIRTUAL_CASES = [case for case in EXERCISE.cases if not case.gpu_only]
DRAWN_CASES = EXERCISE.hidden(Random("drawn for the tests"))
OVERLAPPING = ("kernel", "inline_ptx", "overlap_streams")


def library(gpu: VirtualGpu, source: Path) -> Library:
    return gpu.load(built(source))


@pytest.fixture(scope="module")
def gpu() -> Iterator[VirtualGpu]:
    with VirtualGpu(libraries=[built(source) for source in KERNELS]) as gpu:
        yield gpu


@pytest.fixture(scope="module", params=KERNELS, ids=lambda path: path.stem)
def kernel(request: pytest.FixtureRequest, gpu: VirtualGpu) -> Library:
    return library(gpu, request.param)


@pytest.mark.parametrize("case", [*VIRTUAL_CASES, *DRAWN_CASES], ids=lambda case: case.name)
def test_every_kernel_stores_every_case_without_a_finding(
    gpu: VirtualGpu, kernel: Library, case: Case
) -> None:
    outcome = call(gpu, kernel, EXERCISE, case)
    assert outcome.result.error == "cudaSuccess"
    assert outcome.findings == ()
    assert outcome.right


@pytest.mark.parametrize("name", OVERLAPPING)
def test_the_kernels_that_should_show_the_mechanisms_do(gpu: VirtualGpu, name: str) -> None:
    source = EXERCISE.solution.with_stem(name)
    case = next(case for case in EXERCISE.cases if case.name == EXERCISE.mechanism_case)
    outcome = call(gpu, library(gpu, source), EXERCISE, case)
    evidence = Evidence(case, outcome.launches, kernel_resources(source, built(source), "90"))
    assert {mechanism.name: mechanism.look(evidence) for mechanism in EXERCISE.mechanisms} == {
        mechanism.name: None for mechanism in EXERCISE.mechanisms
    }


@pytest.mark.parametrize("name", OVERLAPPING)
def test_cp_async_moves_every_byte_wherever_rows_are_4_byte_aligned(gpu: VirtualGpu, name: str) -> None:
    kernel = library(gpu, EXERCISE.solution.with_stem(name))
    for case in VIRTUAL_CASES:
        moved = sum(launch.counters.async_bytes for launch in call(gpu, kernel, EXERCISE, case).launches)
        size = case.size
        aligned = (size.shift | size.padding | size.v_longer) % 2 == 0
        assert moved == (2 * size.tokens * size.heads * size.head_dim * 2 if aligned else 0), case.name


@pytest.mark.parametrize("tokens", [1, 64, 1024])
def test_the_solution_touches_no_sector_twice(gpu: VirtualGpu, tokens: int) -> None:
    case = next(case for case in EXERCISE.bench if case.size.tokens == tokens and case.size.heads == 8)
    outcome = call(gpu, library(gpu, EXERCISE.solution), EXERCISE, case)
    evidence = Evidence(case, outcome.launches, ())
    (speedup,) = [target for target in EXERCISE.targets if hasattr(target, "structure")]
    assert [criterion.look(evidence) for criterion in speedup.structure] == [None] * len(speedup.structure)


def test_short_rows_share_a_block(gpu: VirtualGpu) -> None:
    """With one head of 128 a block for each token would leave seven eighths of it idle."""
    case = next(case for case in EXERCISE.bench if case.size.tokens == 4096 and case.size.heads == 1)
    (launch,) = call(gpu, library(gpu, EXERCISE.solution), EXERCISE, case).launches
    assert launch.grid[0] * launch.block[1] == 4096
    assert launch.block[1] >= 8


def test_the_second_stream_is_joined_by_its_end_alone(gpu: VirtualGpu) -> None:
    """store_kv_begin forks, store_kv_end joins; the entry point is both."""
    kernel = library(gpu, EXERCISE.solution.with_stem("overlap_streams"))
    case = VIRTUAL_CASES[2]
    outcome = call(gpu, kernel, EXERCISE, case, "store_kv_begin")
    assert outcome.right  # the call ends with a device-wide wait
    (launch,) = outcome.launches
    assert launch.stream != 0
    assert kernel.call("store_kv_end", Number("stream", 0)).ok


def code(source: Path) -> str:
    """The text without comments, its spaces evened out."""
    return " ".join(re.sub(r"//.*", "", source.read_text()).split())


def test_restrict_only_is_the_baseline_and_one_word() -> None:
    """Its times answer what that word does only as long as nothing else differs."""
    variant = code(EXERCISE.solution.with_stem("restrict_only"))
    assert variant.count("__restrict__ ") == 2
    assert variant.replace("__restrict__ ", "") == code(EXERCISE.baseline)


def test_the_starter_is_what_the_solution_makes() -> None:
    assert starters.difference(EXERCISE.solution, EXERCISE.starter) == ""
