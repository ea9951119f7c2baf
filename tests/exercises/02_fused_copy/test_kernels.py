"""Exercise 02's own kernels on the virtual GPU: right for every case, no finding, the mechanisms seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.virtual_gpu.device import Library, VirtualGpu
from grader.course import starters
from grader.spec import Case, Speedup, Task, registry
from grader.spec.evidence import Evidence
from grader.spec.random_inputs import Random
from tests.exercises.kernel_call import built, call
from tests.exercises.sections import Section, write_sections

EXERCISE = registry.find("02")
STEPS = {step.name: step for step in EXERCISE.steps}
BLOCK_THREADS = ("64", "128", "512", "1024")
KERNELS = (EXERCISE.baseline, EXERCISE.solution, *EXERCISE.variants())
VIRTUAL_CASES = [case for case in EXERCISE.cases if not case.gpu_only]
DRAWN_CASES = EXERCISE.hidden(Random("drawn for the tests"))


@pytest.fixture(scope="module")
def gpu() -> Iterator[VirtualGpu]:
    with VirtualGpu(libraries=[built(source) for source in KERNELS]) as gpu:
        yield gpu


@pytest.fixture(scope="module", params=KERNELS, ids=lambda path: path.stem)
def kernel(request: pytest.FixtureRequest, gpu: VirtualGpu) -> Library:
    return gpu.load(built(request.param))


@pytest.fixture(scope="module")
def solution(gpu: VirtualGpu) -> Library:
    return gpu.load(built(EXERCISE.solution))


@pytest.mark.parametrize("case", [*VIRTUAL_CASES, *DRAWN_CASES], ids=lambda case: case.name)
def test_every_kernel_copies_every_case_without_a_finding(
    gpu: VirtualGpu, kernel: Library, case: Case
) -> None:
    outcome = call(gpu, kernel, EXERCISE, case)
    assert outcome.findings == ()
    assert outcome.right


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("source", [EXERCISE.baseline, EXERCISE.solution], ids=lambda path: path.stem)
def test_every_step_copies_every_case_without_a_finding(gpu: VirtualGpu, source: Path, step: str) -> None:
    library, task = gpu.load(built(source)), STEPS[step]
    for case in (*task.cases, *task.hidden(Random("drawn for the tests"))):
        outcome = call(gpu, library, task, case)
        assert outcome.findings == (), case.name
        assert outcome.right, case.name


def test_the_solution_is_one_launch_wherever_there_is_something_to_copy(
    gpu: VirtualGpu, solution: Library
) -> None:
    tasks: tuple[Task, ...] = (EXERCISE, *STEPS.values())
    for task in tasks:
        for case in task.cases:
            if not case.gpu_only:
                outcome = call(gpu, solution, task, case)
                changes = any(
                    not torch.equal(outcome.expected[name], values)
                    for name, values in task.inputs(
                        case.size, Random(f"the values of {case.name}")
                    ).buffers.items()
                )
                assert len(outcome.launches) == int(changes), (task.entry, case.name)


def test_the_baseline_is_a_launch_for_each_field(gpu: VirtualGpu) -> None:
    assert len(call(gpu, gpu.load(built(EXERCISE.baseline)), EXERCISE, VIRTUAL_CASES[0]).launches) == 6


@pytest.mark.parametrize("case", EXERCISE.bench[:4], ids=lambda case: case.name)
def test_the_solution_has_the_structure_that_the_target_stands_for(
    gpu: VirtualGpu, solution: Library, case: Case
) -> None:
    outcome = call(gpu, solution, EXERCISE, case)
    target = EXERCISE.targets[0]
    assert isinstance(target, Speedup)
    evidence = Evidence(case, outcome.launches, ())
    assert [criterion.look(evidence) for criterion in target.structure] == [None] * len(target.structure)


@pytest.mark.parametrize(
    ("name", "wide"),
    [
        ("a batch of 4", True),
        ("odd columns", True),  # each row starts elsewhere, but on both sides alike
        ("no gaps between rows", True),
        ("odd strides", False),
        ("both sides shifted by one element", True),
        ("sides shifted differently", False),
        ("the longest rows", True),
    ],
)
def test_rows_move_in_16_bytes_where_both_sides_allow(
    gpu: VirtualGpu, solution: Library, name: str, wide: bool
) -> None:
    case = next(case for case in VIRTUAL_CASES if case.name == name)
    (launch,) = call(gpu, solution, EXERCISE, case).launches
    assert ("uint4" in launch.kernel) is wide


@pytest.fixture(scope="module")
def block_sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    """The solution with each of these block sizes, in one file."""
    solution = EXERCISE.solution.read_text()
    texts = {threads: f"#define BLOCK_THREADS {threads}\n{solution}" for threads in BLOCK_THREADS}
    return write_sections(texts, tmp_path_factory.mktemp("sizes") / "kernel.cu")


@pytest.mark.parametrize("threads", BLOCK_THREADS)
def test_any_block_size_copies_the_same(threads: str, block_sizes: dict[str, Section]) -> None:
    section = block_sizes[threads]
    path = built(section.file)
    with VirtualGpu(libraries=[path]) as gpu:
        library = gpu.load(path)
        for case in VIRTUAL_CASES[:12]:
            outcome = call(gpu, library, section.of(EXERCISE), case)
            assert outcome.findings == (), case.name
            assert outcome.right, case.name


def test_the_starter_is_what_the_solution_makes() -> None:
    assert starters.difference(EXERCISE.solution, EXERCISE.starter) == ""
