"""A submission in Python, from its file to its points. Its kernels are not for the virtual GPU to look at."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from grader.devices.session import Session
from grader.devices.time_budget import TimeBudget
from grader.pipeline.libraries import compile_submission
from grader.pipeline.stages import points
from grader.pipeline.stages.correctness import CaseRun
from grader.pipeline.stages.task import Tell, run_on
from grader.python_track.triton_source import NO_KERNEL, launches_a_kernel
from grader.records.record import PartResult, Record
from grader.spec import Exercise, PythonTrack

INTERPRETED = "run by Triton's interpreter on the CPU: correctness only, nothing is said about speed"
_ONLY_IN_CUDA = "only in a kernel.cu"


@dataclass(frozen=True)
class PythonFile:
    """A file that workers import, in a folder of its own: they may read what lies beside it."""

    path: Path
    track: PythonTrack

    def session(self, device: str) -> Session:
        if device == "virtual":
            from grader.python_track.cpu import InterpretedSession

            return InterpretedSession(self.path, self.track)
        from grader.python_track.gpu import PythonGpuSession

        return PythonGpuSession(self.path, self.track)


def grade_python(
    exercise: Exercise,
    source: Path,
    record: Record,
    stages: Collection[str],
    quick: bool,
    scratch: Path,
    tell: Tell,
) -> list[CaseRun]:
    """Adds cases, parts and speed to the record.

    What checks and mechanisms are worth counts with the answers here. Only a GPU can tell the speed.
    """
    record.parts += [PartResult(step.name, 0.0, step.points, _ONLY_IN_CUDA) for step in exercise.steps]
    if exercise.python is None:
        record.verdict = "takes no Python"
        told = f"{exercise.id} is an exercise in CUDA: hand in a kernel.cu"
        record.parts.append(PartResult("correct", 0.0, exercise.points.total, told))
        return []
    device = record.device.kind
    folder = scratch / "submission"
    folder.mkdir()
    file = PythonFile(Path(shutil.copy(source, folder / exercise.python.file)), exercise.python)
    in_triton = launches_a_kernel(record.source)
    runs, printed = run_on(
        device, exercise, file, record.seed, quick=quick, tell=tell, budget=TimeBudget.on(device)
    )
    record.output += printed
    record.cases += [run.result for run in runs]
    correct = bool(runs) and all(run.result.passed for run in runs)
    part = points.correct_part(exercise, runs, worth(exercise, record.source))
    record.parts.append(part)
    if not in_triton:
        record.parts.append(PartResult("mechanism", 0.0, _beside_answers(exercise), NO_KERNEL))
    elif device == "virtual":
        part.message += f" ({INTERPRETED})"
    if "speed" not in stages:
        return runs
    if correct and in_triton and device == "gpu":
        _measure(exercise, file, record, scratch, tell)
    record.parts.append(points.speed_part(exercise, correct, record.speed))
    if correct and not in_triton:
        record.parts[-1].message = NO_KERNEL
    elif correct and device == "virtual":
        record.parts[-1].message = INTERPRETED
    return runs


def worth(exercise: Exercise, source: str) -> float:
    """Of right answers in Python: with what checks and mechanisms are worth, when Triton gives them."""
    return exercise.points.correct + (_beside_answers(exercise) if launches_a_kernel(source) else 0.0)


def _beside_answers(exercise: Exercise) -> float:
    return exercise.points.clean + exercise.points.mechanism


def _measure(exercise: Exercise, file: PythonFile, record: Record, scratch: Path, tell: Tell) -> None:
    from grader.pipeline.stages.speed_gpu import measure
    from grader.python_track.gpu import PythonGpuSession

    tell("building the baseline")
    baseline = compile_submission(exercise.baseline, "gpu", scratch / "baseline")
    ours = PythonGpuSession(file.path, file.track)
    record.speed = measure(exercise, baseline.path("gpu"), ours, record.seed, tell)
