"""Makes a program of a submission: libraries compiled in a sandbox, or a Python file for workers."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from common.core.background import begin
from grader.building.libraries import Libraries
from grader.building.symbols import unusual_calls
from grader.pipeline.context import Context
from grader.pipeline.events import BuildDone
from grader.pipeline.judging.signature import mismatch
from grader.pipeline.results import Result, Results
from grader.pipeline.submission import Submission
from grader.python_track.program import PythonProgram, python_program
from grader.spec import Task
from grader.spec.random_inputs import Random

Program = Libraries | PythonProgram


@dataclass(frozen=True, kw_only=True)
class Built(Result):
    """The program, or `failure`: why there is none. The baseline may still be compiling."""

    program: Program | None = None
    baseline: Future[Libraries] | None = None
    failure: str = ""


def run(submission: Submission, context: Context, earlier: Results) -> Built:
    if submission.in_python:
        return _python(submission, context)
    context.notify("building")
    compiling = begin(_compile, submission, context)
    _import_torch()  # takes seconds; the compilers run on the other core meanwhile
    program = compiling.result()
    if program.failed is not None:
        return Built(diagnostics=program.diagnostics, failure=program.failed.message, ends=True)
    diagnostics = [*program.diagnostics, *_signatures(submission, context)]
    return Built(
        diagnostics=diagnostics,
        flags=unusual_calls(program.virtual_library),
        program=program,
        # Needed much later. It starts here so that the compiler's messages for the student's file come first.
        baseline=_begin_baseline(submission, context, program),
    )


def _compile(submission: Submission, context: Context) -> Libraries:
    """Compile, and report the result at once, before torch has loaded."""
    program = context.device.compile(
        submission.path, context.scratch / "submission", arch=submission.exercise.arch
    )
    context.on_event(BuildDone(program.failed is None, program.seconds, program.diagnostics))
    return program


def _python(submission: Submission, context: Context) -> Built:
    _import_torch()
    track = submission.exercise.python
    if track is None:
        return Built(
            failure=f"{submission.exercise.id} is an exercise in CUDA: hand in a kernel.cu", ends=True
        )
    program = python_program(submission.path, submission.text, track, context.scratch / "submission")
    # On a GPU it is timed against the compiled baseline.
    return Built(program=program, baseline=_begin_baseline(submission, context, program))


def _begin_baseline(submission: Submission, context: Context, program: Program) -> Future[Libraries] | None:
    """Start to compile the baseline if speed is to be graded."""
    if "speed" not in context.wanted or context.step is not None:
        return None
    if not (context.device.timed and program.timed):
        return None
    exercise, scratch = submission.exercise, context.scratch / "baseline"
    return begin(context.device.compile, exercise.baseline, scratch, arch=exercise.arch)


def _signatures(submission: Submission, context: Context) -> list[dict[str, Any]]:
    """Warnings about entry points whose parameters differ from the arguments they get."""
    exercise = submission.exercise
    found = []
    tasks: tuple[Task, ...] = (*exercise.steps, exercise)
    for task in tasks:
        call = task.inputs(task.cases[0].size, Random(context.seed))
        found.append(mismatch(submission.path, submission.text, task.entry, call.arguments))
    return [dataclasses.asdict(warning) for warning in found if warning is not None]


def _import_torch() -> None:
    """With one thread: tensors here are small, and more threads would wait for each other and for other
    gradings on this machine."""
    import torch

    torch.set_num_threads(1)
