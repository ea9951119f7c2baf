"""Speed over the baseline: measured where there is a GPU, modelled where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from grader.building.libraries import Libraries
from grader.devices.device import GpuDevice
from grader.pipeline.context import Context
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built, Program
from grader.pipeline.submission import Submission
from grader.records.record import CaseResult, Speed
from grader.timing.modelled.model import model


@dataclass(frozen=True, kw_only=True)
class Speeds(Result):
    """A case that is wrong only while it is timed counts as wrong."""


def run(submission: Submission, context: Context, earlier: Results) -> Speeds | None:
    built = earlier.of(Built)
    if built.baseline is None or built.program is None or not earlier.correct:
        return None
    speed = _speed(submission, context, built.baseline.result(), built.program)
    wrong = [
        CaseResult(name, True, dict(submission.exercise.bench_case(name).sizes), False, "mismatch", message)
        for name, message in speed.wrong.items()
    ]
    return Speeds(speed=speed, cases=wrong, correct=not wrong)


def _speed(submission: Submission, context: Context, baseline: Libraries, program: Program) -> Speed:
    exercise, device = submission.exercise, context.device
    if device.modelled:
        assert isinstance(program, Libraries)  # no other program is timed there
        return model(
            exercise, device.virtual, baseline, program, context.seed, context.notify, quick=context.quick
        )
    from grader.timing.measured.measure import measure  # needs a GPU's torch

    assert isinstance(device, GpuDevice)
    ours = device.session(program)  # type: ignore[arg-type]
    return measure(exercise, baseline.gpu_library, ours, context.seed, context.notify)
