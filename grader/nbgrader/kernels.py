"""Grades the kernels of a class like `./course grade`, and finds the truths of their predictions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.build.engine.build import build_engine
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.classes.class_run import ClassRun, grade_all, kept_record
from grader.classes.local_processes import LocalProcesses
from grader.classes.submissions import KERNEL, PYTHON_KERNEL, Submission
from grader.cluster.choose import Place
from grader.course.settings import choose_device, read_settings
from grader.nbgrader.class_folder import ClassFolder
from grader.records.record import Record
from grader.spec import Exercise, registry

GRADER = "grader.nbgrader.kernels:grade"


def grade(exercise: Exercise, source: Path, **how: Any) -> Record:
    """Grade one kernel in its own process: the pipeline's record, and the values of its predictions."""
    from grader.pipeline.grading import grade as graded
    from grader.questions.measured import measure, timed

    record = graded(exercise, source, **how)
    if exercise.predictions:
        how["notify"]("counting what was predicted")
        native = source.suffix == ".cu" and record.verdict != "does not compile"
        found = measure(exercise, source if native else None)
        if not record.device.modelled:
            found |= timed(exercise, record.speed)
        record.measured, record.unmeasured = found.values, found.missing
    return record


def class_run(
    folder: ClassFolder,
    *,
    device: str = "",
    jobs: int | None = None,
    fresh: bool = False,
    grader: str = "",
    place: Place | None = None,
) -> ClassRun:
    """`place` is where kernels are graded; without it, on this machine's `device`."""
    settings = read_settings()
    here = place or Place(LocalProcesses(), choose_device(device or None, settings))
    return ClassRun(
        device=here.device,
        exercises={exercise.id: exercise for exercise in registry.all_exercises()},
        output=folder.grades,
        wall_seconds=settings.wall_seconds,
        jobs=jobs,
        fresh=fresh,
        grader=grader or GRADER,
        executor=here.executor,
    )


def submission_of(folder: ClassFolder, student: str, assignment: str) -> Submission:
    place = folder.handed_in(student, assignment)
    source = place / KERNEL
    if not source.exists() and (place / PYTHON_KERNEL).exists():
        source = place / PYTHON_KERNEL
    problem = "" if source.exists() else f"there is no {KERNEL} beside the notebook"
    return Submission(student, assignment, source, problem)


def grade_kernels(run: ClassRun, submissions: Iterable[Submission]) -> list[Record]:
    """A record for each; those of earlier runs are kept."""
    if run.grader != GRADER:
        return grade_all(run, list(submissions))
    if isinstance(run.executor, LocalProcesses):
        build_engine()  # takes minutes, once per machine: no submission's time limit should pay for it
    wanted = list(submissions)
    records = grade_all(run, wanted)
    _count_what_needs_no_kernel(run, zip(wanted, records, strict=True))
    return records


def _count_what_needs_no_kernel(run: ClassRun, graded: Iterable[tuple[Submission, Record]]) -> None:
    """Count predictions about the baseline where a kernel is missing or was not counted."""
    from grader.questions.measured import measure

    counted: dict[str, dict[str, float]] = {}
    for submission, record in graded:
        if record.measured or record.unmeasured:
            continue
        exercise = run.exercises[submission.exercise]
        if exercise.id not in counted:
            counted[exercise.id] = measure(exercise, None).values
        if counted[exercise.id]:
            record.measured = counted[exercise.id]
            record.write(run.record_path(submission))


def record_of(folder: ClassFolder, run: ClassRun, student: str, assignment: str) -> Record:
    """The record that is kept, or one made now in another process: a grading adopts and ends orphans of
    kernels, and in a Jupyter server it could end other children."""
    submission = submission_of(folder, student, assignment)
    if kept := kept_record(run, submission):
        return kept
    command = [sys.executable, "-m", "grader.nbgrader.kernels", folder.root, assignment, student]
    subprocess.run([*map(str, command), run.device.kind], cwd=REPOSITORY, check=False)
    if kept := kept_record(run, submission):
        return kept
    raise CourseError(f"the kernel of {student} for {assignment} could not be graded: see its output above")


def main(arguments: list[str]) -> int:
    root, assignment, student, device = arguments
    folder = ClassFolder(Path(root))
    grade_kernels(class_run(folder, device=device), [submission_of(folder, student, assignment)])
    return 0


if __name__ == "__main__":
    # Gradings are pickled by this module's name, which is not __main__ in their process.
    from grader.nbgrader.kernels import main as named_main

    sys.exit(named_main(sys.argv[1:]))
