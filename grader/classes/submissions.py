"""Finds the submissions under the paths given to `grade`.

    CLASS/student/NN_name/kernel.cu            one folder per student, one folder per exercise
    CLASS/student/kernel.cu                    the same with --exercise
    CLASS/student.cu                           a flat folder, with --exercise
    CLASS/NN_name-student.cu                   a flat folder of several exercises, or student_NN_name.cu
    FILE.cu, ARCHIVE.zip                       one file; any of the above in a zip

Where there is no kernel.cu, kernel.py is used.

A file that cannot be read becomes a submission with a `problem`, so that its student gets a verdict.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from common.core.errors import CourseError
from grader.classes.archives import MOST_FILE_BYTES, unpack
from grader.spec.names import is_named

KERNEL = "kernel.cu"
PYTHON_KERNEL = "kernel.py"  # for exercises with a track in Python
MOST_SOURCE_BYTES = MOST_FILE_BYTES


@dataclass(frozen=True)
class Submission:
    """One student's file for one exercise. With a `problem` it is not graded but still gets a record."""

    student: str
    exercise: str  # the exercise's id; empty when it is not known
    source: Path
    problem: str = ""


@dataclass
class Found:
    """The submissions, and sentences about everything else that was there."""

    submissions: list[Submission] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_submissions(
    paths: Sequence[Path], exercises: Sequence[str], *, exercise: str | None, scratch: Path
) -> Found:
    """All submissions under `paths`, in a fixed order and each file once.

    `exercises` are the ids of all exercises, `exercise` is that of files whose names do not contain one. Zips
    are unpacked below `scratch`.
    """
    search = _Search(exercises, exercise or (exercises[0] if len(exercises) == 1 else ""), scratch)
    for path in paths:
        search.path(path)
    if not search.found.submissions:
        notes = "".join(f"\n  {note}" for note in search.found.notes)
        raise CourseError(
            f"no submission was found under {', '.join(map(str, paths))}. Expected student/NN_name/{KERNEL}, "
            f"student/{KERNEL} or student.cu with --exercise NN, or a zip of those.{notes}"
        )
    search.found.submissions = list(_distinct(search.found.submissions))
    return search.found


@dataclass
class _Search:
    exercises: Sequence[str]
    exercise: str
    scratch: Path
    found: Found = field(default_factory=Found)
    _archives: int = 0
    _left_out: dict[Path, str] = field(default_factory=dict)  # files of archives that were left out, and why

    def path(self, path: Path) -> None:
        """One path of the command line: it must exist."""
        if path.is_dir():
            self._folder(path)
        elif path.suffix.lower() == ".zip" and path.is_file():
            self._archive(path, whole_class=True)
        elif path.exists() or path.is_symlink():
            self._file(path)
        else:
            raise CourseError(f"there is no file or folder {path}{self._instead(path)}")

    def _instead(self, path: Path) -> str:
        """`check` takes an exercise, so students give one to `grade`, too."""
        for name in self.exercises:
            if is_named(name, str(path)):
                own = f"work/{name}/{KERNEL}"
                return f". Yours is checked by `./course check {path}`, and graded by `./course grade {own}`"
        return ""

    def _folder(self, folder: Path) -> None:
        """A class, or the folder of one student, or of one exercise of one student."""
        name = folder.absolute().name
        if _present(_kernel_in(folder)):
            owner = folder.absolute().parent.name if name in self.exercises else name
            self._kernel(folder, owner)
        elif any(entry.name in self.exercises for entry in _entries(folder)):
            self._student(folder, name)
        else:
            self._class(folder)

    def _class(self, folder: Path) -> None:
        for entry in _entries(folder):
            if entry.is_symlink() and entry.suffix != ".cu":
                self.found.notes.append(f"{entry} is a symbolic link and was not followed")
            elif entry.is_dir():
                self._student(entry, entry.name)
            elif entry.suffix.lower() == ".zip":
                self._archive(entry, whole_class=False)
            elif entry.suffix == ".cu":
                self._file(entry)

    def _student(self, folder: Path, student: str) -> None:
        before = len(self.found.submissions)
        for exercise in self.exercises:
            kernel = _kernel_in(folder / exercise)
            if _present(kernel):
                linked = (folder / exercise).is_symlink()
                self._add(student, exercise, kernel, _LINK if linked else "")
        if len(self.found.submissions) == before and _present(_kernel_in(folder)):
            self._kernel(folder, student)
        if len(self.found.submissions) == before:
            self._nothing(folder, student)

    def _nothing(self, folder: Path, student: str) -> None:
        inner = [entry for entry in _entries(folder) if entry.is_dir() and not entry.is_symlink()]
        if len(inner) == 1 and inner[0].name not in self.exercises:
            self._student(inner[0], student)  # zips and downloads often wrap everything in one more folder
        elif self.exercise:
            self._add(student, self.exercise, folder / KERNEL, f"there is no {KERNEL} in the folder")
        else:
            self.found.notes.append(f"{folder} holds no NN_name/{KERNEL} and was skipped")

    def _kernel(self, folder: Path, student: str) -> None:
        named = folder.absolute().name
        self._add(student, named if named in self.exercises else self.exercise, _kernel_in(folder))

    def _file(self, path: Path) -> None:
        """A file whose name may contain both the exercise and the student."""
        absolute = path.absolute()
        if absolute.name == KERNEL or path == _kernel_in(path.parent):
            in_exercise = absolute.parent.name in self.exercises
            owner = absolute.parent.parent.name if in_exercise else absolute.parent.name
            self._kernel(path.parent, owner or path.stem)
            return
        for exercise in self.exercises:
            known = re.escape(exercise)
            match = re.fullmatch(rf"{known}[-_](?P<a>.+)|(?P<b>.+)[-_]{known}", path.stem)
            if match:
                self._add(match["a"] or match["b"], exercise, path)
                return
        self._add(path.stem, self.exercise, path)

    def _archive(self, path: Path, *, whole_class: bool) -> None:
        """A zip: of a class, or, among other files, of the student it is named after."""
        self._archives += 1
        folder = self.scratch / f"archive-{self._archives}" / path.stem
        folder.mkdir(parents=True)
        try:
            if path in self._left_out:
                raise CourseError(self._left_out[path])
            unpacked = unpack(path, folder)
        except CourseError as problem:
            self._add(path.stem, self.exercise, path, str(problem))
            return
        self.found.notes += unpacked.notes
        self._left_out |= unpacked.problems
        if not whole_class:
            self._student(folder, path.stem)
            return
        inner = _entries(folder)
        # A zip of a folder holds that one folder; its name adds nothing to the zip's own.
        alone = len(inner) == 1 and inner[0].is_dir() and not _present(_kernel_in(inner[0]))
        holds_exercises = alone and any(entry.name in self.exercises for entry in _entries(inner[0]))
        self._folder(inner[0] if alone and not holds_exercises else folder)

    def _add(self, student: str, exercise: str, source: Path, problem: str = "") -> None:
        problem = problem or self._left_out.get(source, "")
        if not exercise and not problem:
            known = ", ".join(self.exercises)
            problem = f"the exercise of {source.name} is not known: add --exercise NN ({known})"
        self.found.submissions.append(Submission(student, exercise, source, problem))


_LINK = "it is a symbolic link"


def read_source(submission: Submission) -> bytes:
    """The bytes to grade. Raises CourseError with the reason when they cannot be graded."""
    if submission.problem:
        raise CourseError(submission.problem)
    try:
        # O_NONBLOCK: opening a pipe without a writer would block for ever.
        handle = os.open(submission.source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        linked = submission.source.is_symlink()
        raise CourseError(_LINK if linked else f"it cannot be opened ({problem.strerror})") from problem
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise CourseError("it is not a regular file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MOST_SOURCE_BYTES + 1)
    if len(data) > MOST_SOURCE_BYTES:
        raise CourseError(f"it is larger than {MOST_SOURCE_BYTES >> 20} MiB")
    if not data.strip():
        raise CourseError("it is empty")
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise CourseError(f"it is not UTF-8 text (line {line})") from problem
    if "\0" in text:
        raise CourseError("it holds NUL bytes, so it is not text")
    return data


def kernel_name(source: Path) -> str:
    """The name of a submission's file in its scratch folder."""
    return PYTHON_KERNEL if source.suffix == ".py" else KERNEL


def _kernel_in(folder: Path) -> Path:
    """The file that a folder submits, even if it does not exist."""
    native, python = folder / KERNEL, folder / PYTHON_KERNEL
    return python if _present(python) and not _present(native) else native


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder in order, without hidden files, which belong to tools."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _present(path: Path) -> bool:
    """Whether the path exists, even as a broken link."""
    return os.path.lexists(path)


def _distinct(submissions: Sequence[Submission]) -> Iterator[Submission]:
    """Each file once; a second file of the same student and exercise gets a new name."""
    seen: set[Path] = set()
    names: dict[tuple[str, str], int] = {}
    for submission in submissions:
        place = submission.source.absolute()
        if place in seen:
            continue
        seen.add(place)
        key = (submission.student, submission.exercise)
        names[key] = names.get(key, 0) + 1
        yield (
            submission
            if names[key] == 1
            else replace(submission, student=f"{submission.student}~{names[key]}")
        )
