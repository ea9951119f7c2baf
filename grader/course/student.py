"""A student's own folder, `work/NN_name/`, and state that commands keep between calls."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_json
from common.core.paths import REPOSITORY
from grader.spec import Exercise

WORK = REPOSITORY / "work"
_STARTED_WITH = ("README.md", "test.py", "scores.cu", "lazy_streams.py")  # and the files of answers


def work_folder(name: str) -> Path:
    """The one folder of an exercise, for its notebook and for the terminal: both use its kernel.cu."""
    return WORK / name


def start(exercise: Exercise) -> tuple[list[Path], list[Path]]:
    """Copy the starter and its files into the work folder: the files copied, and those that existed."""
    folder = work_folder(exercise.id)
    answered = (sheet.file for sheet in exercise.sheets)
    sources = [exercise.starter, *(exercise.folder / name for name in (*_STARTED_WITH, *answered))]
    copied: list[Path] = []
    kept: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in (path for path in sources if path.is_file()):
            target = folder / source.name
            (kept if _copy_new(source, target) is None else copied).append(target)
    except OSError as problem:
        raise CourseError(f"{folder} cannot be filled: {problem.strerror} ({problem.filename})") from problem
    return copied, kept


def _copy_new(source: Path, target: Path) -> Path | None:
    """Copy without ever overwriting: "x" fails where anything of that name exists."""
    try:
        with source.open("rb") as read, target.open("xb") as write:
            shutil.copyfileobj(read, write)
    except FileExistsError:
        return None
    return target


def own_file(exercise: Exercise, asked: Path | None) -> Path:
    """The student's file: the one named, else that of the work folder, else the starter."""
    if asked is not None:
        if not asked.is_file():
            raise CourseError(
                f"there is no file {asked}. `./course start {exercise.number}` makes "
                f"{shown(_own_kernel(exercise))}, which is used when no file is named."
            )
        return asked
    return _own_kernel(exercise) if has_begun(exercise) else exercise.starter


def has_begun(exercise: Exercise) -> bool:
    return _own_kernel(exercise).is_file()


def _own_kernel(exercise: Exercise) -> Path:
    return work_folder(exercise.id) / "kernel.cu"


def shown(path: Path) -> str:
    """A path for display: relative to the current folder if it is below that."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def read_state(exercise: Exercise, name: str) -> dict[str, Any]:
    """The state kept under `name`; empty when there is none or it cannot be read."""
    for folder in _state_folders():
        try:
            data = json.loads((folder / f"{exercise.id}.{name}.json").read_text())
        except (OSError, ValueError):
            continue
        if isinstance(data, dict):
            return data
    return {}


def write_state(exercise: Exercise, name: str, data: dict[str, Any]) -> None:
    """Keep state in the first writable folder. A machine without one keeps none."""
    for folder in _state_folders():
        try:
            write_json(folder / f"{exercise.id}.{name}.json", data)
            return
        except OSError:
            continue


def _state_folders() -> tuple[Path, ...]:
    """Beside the student's work, or in the user's own state folder where the course cannot be written."""
    own = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return WORK / ".state", Path(own) / "serving-kernels"
