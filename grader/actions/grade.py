"""Grades files and reference solutions, and repeats the grading of a record: what `grade` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.build.engine.build import build_engine
from common.core.errors import CourseError
from grader.building.scratch_folder import scratch_folder
from grader.classes import similarity
from grader.classes.class_run import ClassRun, grade_all
from grader.classes.local_processes import LocalProcesses
from grader.classes.submissions import Found, Submission, find_submissions
from grader.course.settings import Settings, choose_device
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.records.replay import with_current_names
from grader.spec import registry
from grader.words import numbers


def found_in(paths: Sequence[Path], exercise: str | None, scratch: Path) -> Found:
    """The submissions under some paths. `exercise` is for files whose names do not contain one."""
    known = [folder.name for folder in registry.exercise_folders()]
    chosen = registry.find(exercise).id if exercise else None
    return find_submissions(paths, known, exercise=chosen, scratch=scratch)


def references(exercise: str | None) -> list[Submission]:
    """The reference solutions, or that of one exercise."""
    exercises = [registry.find(exercise)] if exercise else registry.all_exercises()
    if not exercises:
        raise CourseError(f"there is no exercise in {registry.EXERCISES}")
    if not registry.SOLUTIONS.is_dir():
        raise CourseError("there are no reference solutions here to grade: name a file, with --exercise NN")
    return [Submission("reference", one.id, one.solution) for one in exercises]


def graded(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    """A record for each, in their order."""
    if isinstance(run.executor, LocalProcesses):
        build_engine()  # takes minutes, once per machine: no submission's time limit should pay for it
    return grade_all(run, submissions)


def has_full_marks(record: Record) -> bool:
    return record.max_points > 0 and record.points >= record.max_points


def note_on_alike(run: ClassRun, records: Sequence[Record]) -> str:
    """What to say of submissions with similar text; empty where there is nothing to say. Whatever goes wrong
    here, the class has its marks: that is a note, too."""
    try:
        alike = _read_alike(run, records)
    except Exception as problem:
        return f"submissions were not compared with each other: {type(problem).__name__}: {problem}"
    if alike is None or not alike[0]:
        return ""
    pairs, path = alike
    return f"{numbers.counted(len(pairs), 'pair')} of submissions are similar: see {path}"


def _read_alike(run: ClassRun, records: Sequence[Record]) -> tuple[list[similarity.Pair], Path] | None:
    """Submissions of one exercise with similar text, for a person to look at, and the file of their table.
    None where there is nothing to compare."""
    by_exercise: dict[str, dict[str, str]] = {}
    for record in records:
        if record.source:
            by_exercise.setdefault(record.exercise, {})[record.submission] = record.source
    if all(len(sources) < 2 for sources in by_exercise.values()):
        return None
    pairs: list[similarity.Pair] = []
    for name, sources in by_exercise.items():
        exercise = run.exercises[name]
        pairs += similarity.similar_pairs(name, sources, (exercise.starter, exercise.baseline))
    path = run.output / "similarity.csv"
    similarity.write_csv(pairs, path)
    return pairs, path


def repeatable(path: Path, device: str | None) -> Record:
    """A record that can be repeated, on the kind of `device` that is asked for."""
    before = Record.read(path)
    if not before.source or not before.seed:
        raise CourseError(f"{path} holds no source to repeat: its verdict was {before.verdict!r}")
    if device and device != before.device.kind:
        raise CourseError(f"{path} was made on {before.device.kind!r}: leave out --device")
    return with_current_names(before, registry.find(before.exercise).former_parts)


def device_to_repeat(before: Record, settings: Settings) -> DeviceInfo:
    """The virtual GPU with the record's profile, or this machine's GPU."""
    return before.device if before.device.modelled else choose_device(before.device.kind, settings)


def repeated(before: Record, device: DeviceInfo, wall_seconds: float) -> Record:
    """The same submission graded again with the same seed."""
    exercise = registry.find(before.exercise)
    with scratch_folder() as scratch:
        source = scratch / before.file
        source.write_bytes(before.source.encode())
        run = ClassRun(device, {exercise.id: exercise}, scratch / "out", wall_seconds, seed=before.seed)
        [after] = grade_all(run, [Submission(before.submission, exercise.id, source)])
    return after
