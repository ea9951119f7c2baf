"""Cleans up a submitted folder before nbgrader reads it: only regular files stay, with a notebook.

nbgrader follows links with the instructor's rights and skips folders without a notebook of the right name.
Changes are noted, and RestoreCells puts the notes at the top of the graded notebook.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.core.errors import CourseError
from grader.nbgrader.class_folder import ClassFolder
from grader.spec.names import file_name

TIMESTAMP = "timestamp.txt"
_MOST_NOTES = 20
_MOST_FOLDERS = 50  # nested; some Pythons walk through any number of them, but nbgrader does not
_TOO_DEEP = "its folders are nested too deeply"


def look_over(folder: ClassFolder, student: str, assignment: str) -> list[str]:
    """Make a submission fit for nbgrader, and return notes about it."""
    place = folder.handed_in(student, assignment)
    kept = read_notes(folder, student, assignment)
    found = [*_plain_files_only(place), *_timestamp(place), *_notebook(place, assignment)]
    notes = list(dict.fromkeys([*kept, *map(_writable, found)]))
    if notes != kept:
        _write(folder, student, assignment, notes)
    return notes


def look_over_all(folder: ClassFolder) -> dict[tuple[str, str], str]:
    """Clean up every submission; returns the problems of those that cannot be made fit."""
    places = sorted(path for path in folder.submitted.glob("*/*") if path.is_dir())
    return look_over_these(folder, [(place.parent.name, place.name) for place in places])


def look_over_these(
    folder: ClassFolder, submissions: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Problems, by student and assignment, of submissions that cannot be made fit for nbgrader."""
    problems: dict[tuple[str, str], str] = {}
    for student, assignment in submissions:
        try:
            look_over(folder, student, assignment)
        except CourseError as problem:
            problems[student, assignment] = str(problem)
        except OSError as problem:
            problems[student, assignment] = unreadable(problem)
        except RecursionError:
            problems[student, assignment] = _TOO_DEEP
    return problems


def unreadable(problem: OSError) -> str:
    return f"it cannot be read: {problem.strerror} ({problem.filename})"


def read_notes(folder: ClassFolder, student: str, assignment: str) -> list[str]:
    try:
        found = json.loads(_notes_path(folder, student, assignment).read_text())
    except (OSError, ValueError):
        return []
    return [str(note) for note in found][:_MOST_NOTES] if isinstance(found, list) else []


def renew(folder: ClassFolder, student: str, assignment: str, notes: list[str]) -> None:
    """Replace the notes of an earlier submission with those of the one just collected."""
    _notes_path(folder, student, assignment).unlink(missing_ok=True)
    if notes:
        _write(folder, student, assignment, [_writable(note) for note in notes])


def _writable(note: str) -> str:
    """Escape a file's name: it may hold bytes that are not text, which a notebook cannot."""
    return note.encode(errors="replace").decode()


def _plain_files_only(place: Path) -> Iterator[str]:
    for path in sorted(place.rglob("*")):
        if len(path.parts) - len(place.parts) > _MOST_FOLDERS:
            raise CourseError(_TOO_DEEP)
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            continue
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        try:
            path.unlink()
        except OSError as problem:
            raise CourseError(f"{path} is {kind} and cannot be removed: {problem.strerror}") from problem
        yield f"{path.relative_to(place)} was {kind} and was removed."


def _timestamp(place: Path) -> Iterator[str]:
    """Remove an unreadable timestamp, at which nbgrader stops; without one a submission is in time."""
    from nbgrader.utils import parse_utc

    path = place / TIMESTAMP
    if not path.is_file():
        return
    try:
        parse_utc(path.read_text().strip())
    except (ValueError, OverflowError, OSError):
        path.unlink()
        yield f"{TIMESTAMP} held no date and was removed: the time of submission is not known."


def _notebook(place: Path, assignment: str) -> Iterator[str]:
    wanted = place / f"{assignment}.ipynb"
    if os.path.lexists(wanted) and not wanted.is_dir():
        return
    if wanted.is_dir():
        shutil.rmtree(wanted)
    others = sorted(path for path in place.rglob("*.ipynb") if path.is_file())
    if len(others) == 1:
        shutil.copyfile(others[0], wanted)
        yield f"{others[0].relative_to(place)} was graded as {wanted.name}: it was the only notebook."
        return
    reason = "there was none"
    if others:
        reason = f"none of {', '.join(path.name for path in others[:5])} has the name {wanted.name}"
    wanted.write_bytes(b"")  # nbgrader skips a folder without one
    yield f"No notebook to grade was handed in: {reason}. An empty one replaces it."


def _notes_path(folder: ClassFolder, student: str, assignment: str) -> Path:
    return folder.grades / "notes" / file_name(assignment) / f"{file_name(student)}.json"


def _write(folder: ClassFolder, student: str, assignment: str, notes: list[str]) -> None:
    path = _notes_path(folder, student, assignment)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notes[:_MOST_NOTES], indent=1))
