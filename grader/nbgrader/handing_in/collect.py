"""nbgrader's collect for untrusted submissions: follows no links, and leaves out odd or too large files
without failing the collection."""

from __future__ import annotations

import datetime
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc

from common.core.errors import CourseError
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.handing_in.handed_in import TIMESTAMP, look_over, renew

_MOST_FILES = 500
_MOST_DEPTH = 20  # of nested folders
_NOBODY: dict[str, Any] = {"username": "", "filename": "", "timestamp": datetime.datetime.min}


class CollectPlainFiles(ExchangeCollect):
    """Only regular files: a link could name any file that the instructor can read, such as a solution."""

    src_records: list[dict[str, Any]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Students make these folders, so they may be links or files, or have any name."""
        student, _, *when = os.path.basename(path).rsplit("+", 3)
        try:
            if os.path.islink(path) or not os.path.isdir(path) or student in ("", ".", ".."):
                raise ValueError("it is not a student's folder")
            return {
                "username": student,
                "filename": os.path.basename(path),
                "timestamp": parse_utc(when[0]),
            }
        except (ValueError, OverflowError) as problem:
            self.log.warning("%s was left out: %s", path, problem)
            return _NOBODY

    def init_src(self) -> None:
        super().init_src()
        self.src_records = [record for record in self.src_records if record is not _NOBODY]

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        try:
            self._collect(src, dest, log)
        except (CourseError, OSError, RecursionError) as problem:
            self.log.error("%s could not be collected: %s", src, problem)

    def _collect(self, src: str, dest: str, log: Any) -> None:
        place = Path(dest)
        folder = ClassFolder(Path(self.coursedir.root))
        student, assignment = place.parent.name, place.name
        with tempfile.TemporaryDirectory(dir=folder.grades, prefix=".collect-") as scratch:
            copied = Path(scratch) / "copy"
            copy = _Copy(1000 * self.coursedir.max_file_size, 1000 * self.coursedir.max_dir_size)
            notes = list(copy.of(Path(src), copied, ""))
            if not (copied / TIMESTAMP).exists():  # a student who removed it still has the time of collection
                (copied / TIMESTAMP).write_text(os.path.basename(src).rsplit("+", 3)[2])
            super().do_copy(str(copied), dest, log)
        renew(folder, student, assignment, notes)
        for note in look_over(folder, student, assignment):
            self.log.warning("%s, %s: %s", student, assignment, note)


class _Copy:
    def __init__(self, most_file_bytes: int, most_bytes: int) -> None:
        self._most_file_bytes = most_file_bytes
        self._bytes = most_bytes
        self._files = _MOST_FILES

    def of(self, source: Path, target: Path, name: str, depth: int = 0) -> Iterator[str]:
        """Copy the regular files; yields a sentence for everything else."""
        target.mkdir()
        try:
            entries = sorted(os.scandir(source), key=lambda entry: entry.name)
        except OSError as problem:
            yield f"{name or 'The folder'} could not be read ({problem.strerror})."
            return
        for entry in entries:
            shown = f"{name}{entry.name}"
            if entry.is_symlink():
                yield f"{shown} was a symbolic link and was left out."
            elif entry.is_dir(follow_symlinks=False) and depth >= _MOST_DEPTH:
                yield f"{shown} was nested too deeply and was left out."
            elif entry.is_dir(follow_symlinks=False):
                yield from self.of(Path(entry.path), target / entry.name, f"{shown}/", depth + 1)
            elif not entry.is_file(follow_symlinks=False):
                yield f"{shown} was not a regular file and was left out."
            elif self._files <= 0:
                yield f"The folder held more than {_MOST_FILES} files; the rest was left out."
                return
            else:
                self._files -= 1
                try:
                    if not self._file(entry.path, target / entry.name):
                        yield f"{shown} was too large and was left out."
                except OSError as problem:
                    yield f"{shown} could not be read ({problem.strerror}) and was left out."

    def _file(self, source: str, target: Path) -> bool:
        """Whether it was within the limits. Its size may change while we read, so bytes are counted."""
        handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        left = min(self._most_file_bytes, self._bytes)
        with os.fdopen(handle, "rb") as read, target.open("xb") as write:
            while left >= 0 and (chunk := read.read(1 << 20)):
                left -= len(chunk)
                write.write(chunk)
        if left < 0:
            target.unlink()
            return False
        self._bytes -= target.stat().st_size
        return True
