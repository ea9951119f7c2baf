"""Exercise 02's design choices, measured inside CUDA graphs on a GPU: its steps, and its block sizes.

    python -m benchmarks.copies.choices [--quick] [--out FOLDER]

Each step of the exercise against as many `.copy_` calls; and the solution with other block sizes and other
numbers of units in flight, over the bench's shapes. Sixteen calls on distinct buffers make a graph, and every
output is checked. Writes benchmarks/data/copies/copy_choices_GPU.json.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import DATA
from benchmarks.output.options import described_parser
from benchmarks.timing.entry_calls import Work, entry_call
from benchmarks.timing.graphs import graph_times, summary, write_result
from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.devices import first_gpu
from grader.spec import Call as Inputs
from grader.spec import Case, Exercise, Step, Task, registry
from grader.spec.random_inputs import Random

HEADERS = REPOSITORY / "common" / "cuda"
SETS = 16
BLOCKS = (64, 128, 256, 512, 1024)
DEPTHS = (1, 2, 4, 8)
BATCHES = (1, 32, 256)
COPIES = ".copy_ calls"
AS_CHOSEN = "as chosen"


def library(defines: Mapping[str, str]) -> ctypes.CDLL:
    source = registry.find("02").solution
    target = Target.gpu(first_gpu().cc)
    built = build_program([source], target, kind="shared", defines=defines, include_dirs=[HEADERS])
    return ctypes.CDLL(str(built.path))


def sets_of(task: Task, case: Case) -> list[Inputs]:
    return [task.inputs(case.size, Random(f"{case.name} {number}", "cuda")) for number in range(SETS)]


def check(task: Task, case: Case, sets: list[Inputs], work: list[Work]) -> None:
    """Checks that every output of these calls equals the reference's for the same buffers."""
    for inputs, call in zip(sets, work, strict=True):
        for name in inputs.outputs:  # an earlier call's output must not pass
            inputs.buffers[name].bitwise_not_()
        wanted = {name: tensor.clone() for name, tensor in inputs.buffers.items()}
        task.reference(case.size, wanted)
        call()
        torch.cuda.synchronize()
        for name in inputs.outputs:
            if not torch.equal(inputs.buffers[name], wanted[name]):
                raise CourseError(f"{task.entry} is wrong at {case.name}: {name}")


def measure_step(step: Step, case: Case, solution: ctypes.CDLL, turns: int) -> dict[str, Any]:
    sets = sets_of(step, case)
    calls = [entry_call(solution, step.entry, inputs) for inputs in sets]
    check(step, case, sets, calls)
    copies = [functools.partial(step.reference, case.size, inputs.buffers) for inputs in sets]
    return summary(graph_times({COPIES: copies, step.entry: calls}, turns), COPIES)


def measure_choices(case: Case, libraries: Mapping[str, ctypes.CDLL], turns: int) -> dict[str, Any]:
    exercise = registry.find("02")
    sets = sets_of(exercise, case)
    ways = {}
    for name, built in libraries.items():
        ways[name] = [entry_call(built, exercise.entry, inputs) for inputs in sets]
        check(exercise, case, sets, ways[name])
    return summary(graph_times(ways, turns), next(iter(libraries)))


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the samples, and no file")
    parser.add_argument("--out", type=Path, default=DATA / "copies", help="the folder of the file")
    arguments = parser.parse_args()
    quick = arguments.quick
    turns = 12 if quick else 60
    exercise = registry.find("02")
    choices: dict[str, dict[str, str]] = {AS_CHOSEN: {}} | {
        f"{threads} threads, {depth} deep": {"BLOCK_THREADS": str(threads), "DEPTH": str(depth)}
        for threads in BLOCKS
        for depth in DEPTHS
    }
    libraries = {name: library(defines) for name, defines in choices.items()}
    solution = libraries[AS_CHOSEN]
    steps, blocks = [], []
    with exclusive():
        for step in exercise.steps:
            for case in _cases(exercise, step):
                figures = measure_step(step, case, solution, turns)
                steps.append({"step": step.name, "case": case.name, "results": figures})
                _tell(f"{step.name}, {case.name}", figures)
        for case in exercise.bench:
            figures = measure_choices(case, libraries, turns)
            blocks.append({"case": case.name, "results": figures})
            _tell(case.name, figures)
        result = {"clock_mhz": read_clocks().sm_mhz, "steps": steps, "block sizes": blocks}
    if not quick:
        print(f"written: {write_result(arguments.out, 'copy_choices', result)}")


def _cases(exercise: Exercise, step: Step) -> Sequence[Case]:
    """The target's shapes for a step that copies the page table, else batches."""
    if "page_table" in step.inputs(step.cases[0].size, Random("fields")).buffers:
        return exercise.bench[:6]
    return [Case(f"{batch}", {**step.cases[0].sizes, "batch": batch}) for batch in BATCHES]


def _tell(title: str, figures: Mapping[str, Mapping[str, float]]) -> None:
    best = min(figures, key=lambda name: figures[name]["microseconds"])
    print(title)
    for name, figure in figures.items():
        mark = "*" if name == best else " "
        print(f"  {mark} {name:24} {figure['microseconds']:8.2f} us   {figure['ratio']:.2f}x")


if __name__ == "__main__":
    main()
