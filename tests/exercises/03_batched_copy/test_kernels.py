"""Exercise 03's own kernels on the virtual GPU: right in every case, captured, in order."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.build.program import Target, build_program
from common.virtual_gpu.device import Library, VirtualGpu
from common.worker.calls import Table, i32, i64
from grader.building.build import HEADERS, WALLS
from grader.course import starters
from grader.spec import Case, registry
from grader.spec.random_inputs import Random
from tests.exercises.kernel_call import call

EXERCISE = registry.find("03")
HERE = Path(__file__).parent
AROUND = HERE / "around.cu"
KERNELS = (EXERCISE.baseline, EXERCISE.solution, *EXERCISE.variants())
WRONG = importlib.import_module("tests.exercises.03_batched_copy.wrong_kernels").WRONG
VIRTUAL_CASES = [case for case in EXERCISE.cases if not case.gpu_only]
DRAWN_CASES = EXERCISE.hidden(Random("drawn for the tests"))
ONE_LAUNCH = ("kernel", "strided")


def built(source: Path) -> Path:
    """The kernel and what a server does around it, in one library. The kernel is compiled as the grader does
    it, which has done so already or will find it done."""
    return build_program(
        [source, AROUND], Target.virtual(), kind="shared", include_dirs=[HEADERS], walls=WALLS
    ).path


def wrong(name: str) -> Path:
    return HERE / "wrong" / f"{name}.cu"


def case_named(name: str) -> Case:
    return next(case for case in (*EXERCISE.cases, *EXERCISE.bench) if case.name == name)


@pytest.fixture(scope="module")
def gpu() -> Iterator[VirtualGpu]:
    with VirtualGpu(libraries=[built(source) for source in (*KERNELS, wrong("unforked_streams"))]) as gpu:
        yield gpu


@pytest.fixture(scope="module", params=KERNELS, ids=lambda path: path.stem)
def kernel(request: pytest.FixtureRequest, gpu: VirtualGpu) -> Library:
    return gpu.load(built(request.param))


@pytest.mark.parametrize("case", [*VIRTUAL_CASES, *DRAWN_CASES], ids=lambda case: case.name)
def test_every_kernel_answers_every_case_without_a_finding(
    gpu: VirtualGpu, kernel: Library, case: Case
) -> None:
    outcome = call(gpu, kernel, EXERCISE, case)
    assert outcome.findings == ()
    assert outcome.right


@pytest.mark.parametrize("name", ["decode with its own pages", "every element size, misaligned"])
def test_every_kernel_can_be_captured_and_replayed(gpu: VirtualGpu, kernel: Library, name: str) -> None:
    """The descriptors are gone by then: a captured launch carries what it needs."""
    outcome = call(gpu, kernel, EXERCISE, case_named(name), "capture_and_replay", i32(2))
    assert outcome.result.error == "cudaSuccess"
    assert outcome.findings == ()
    assert outcome.right


def test_side_streams_that_are_not_joined_cannot_be_captured() -> None:
    with VirtualGpu() as gpu:  # one of its own: what is captured stays broken
        library = gpu.load(built(wrong("unjoined_streams")))
        outcome = call(gpu, library, EXERCISE, case_named("decode"), "capture_and_replay", i32(1))
    assert outcome.result.error == "cudaErrorStreamCaptureUnjoined"


def produced_and_copied(gpu: VirtualGpu, library: Library) -> tuple[torch.Tensor, torch.Tensor]:
    """What arrives of sources that a kernel writes just before the copies, and what should."""
    elements = 1000
    fresh = gpu.from_torch("fresh", torch.arange(elements, dtype=torch.int32))
    source = gpu.from_torch("source", torch.full((elements,), -1, dtype=torch.int32))
    destination = gpu.from_torch("destination", torch.zeros(elements, dtype=torch.int32))
    half = elements // 2
    table = Table(
        [[source + 4 * at, destination + 4 * at, *map(i64, (1, half, half, half, 4))] for at in (0, half)]
    )
    result = library.call("produce_and_copy", fresh, source, i32(elements), table, i32(2))
    assert result.error == "cudaSuccess"
    got = destination.torch().clone()
    for tensor in (fresh, source, destination):
        tensor.free()
    return got, torch.arange(elements, dtype=torch.int32)


def test_every_kernel_copies_what_was_produced_before_it(gpu: VirtualGpu, kernel: Library) -> None:
    got, wanted = produced_and_copied(gpu, kernel)
    assert torch.equal(got, wanted)


def test_side_streams_that_are_not_forked_copy_what_was_there_before(gpu: VirtualGpu) -> None:
    got, _ = produced_and_copied(gpu, gpu.load(built(wrong("unforked_streams"))))
    assert bool((got == -1).all())


@pytest.mark.parametrize("name", ONE_LAUNCH)
def test_one_launch_does_it_and_nothing_at_all_takes_none(gpu: VirtualGpu, name: str) -> None:
    library = gpu.load(built(EXERCISE.solution.with_stem(name)))
    for case in VIRTUAL_CASES:
        outcome = call(gpu, library, EXERCISE, case)
        idle = outcome.returns or case.name.startswith("no rows")
        assert len(outcome.launches) == (0 if idle else 1), case.name


def test_a_huge_copy_takes_many_blocks_and_a_tiny_one_a_single_block(gpu: VirtualGpu) -> None:
    """96 × 4,096 and 100,001 elements of 4 bytes, 16 bytes a slot, 512 slots a block; and three tiny ones."""
    case = case_named("huge and tiny in one batch")
    (launch,) = call(gpu, gpu.load(built(EXERCISE.solution)), EXERCISE, case).launches
    assert launch.grid[0] == 96 * 1024 // 512 + 49 + 3


def test_contiguous_data_moves_16_bytes_a_lane(gpu: VirtualGpu) -> None:
    case = case_named("7 dense copies of 65,536")
    (launch,) = call(gpu, gpu.load(built(EXERCISE.solution)), EXERCISE, case).launches
    assert launch.counters.global_load_bytes == 16 * 32 * launch.counters.global_load_requests


def test_edges_leave_whole_units_between_them(gpu: VirtualGpu) -> None:
    """Rows that begin at the same place between two 16-byte addresses, on both sides."""
    case = case_named("slices aligned alike, but not to 16 bytes")
    (launch,) = call(gpu, gpu.load(built(EXERCISE.solution)), EXERCISE, case).launches
    moved = EXERCISE.bytes_moved(case.size) // 2
    assert launch.counters.global_load_bytes == moved
    assert launch.counters.global_load_requests < moved / (16 * 32) * 2


def test_the_starter_is_what_the_solution_makes() -> None:
    assert starters.difference(EXERCISE.solution, EXERCISE.starter) == ""
