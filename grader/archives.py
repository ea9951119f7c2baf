"""Opens a zip of submissions without trusting a byte of it."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath

from common.errors import CourseError

MOST_FILES = 20_000
MOST_BYTES = 256 << 20  # of all files together, once unpacked
MOST_FILE_BYTES = 4 << 20  # larger ones hold no submission
_CHUNK = 1 << 16
_FOLDERS_OF_TOOLS = ("__MACOSX",)


def unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack the plain files of `archive` below `folder`, and say in sentences what was left out.

    Raises CourseError when it is no zip, or one that wants more space than a class can need.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            return _unpack(opened, folder, archive.name)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as problem:
        raise CourseError(f"{archive} cannot be unpacked: {problem}") from problem


def _unpack(opened: zipfile.ZipFile, folder: Path, name: str) -> list[str]:
    members = opened.infolist()
    if len(members) > MOST_FILES:
        raise CourseError(f"{name} holds {len(members):,} files; at most {MOST_FILES:,} are unpacked")
    notes: list[str] = []
    left = MOST_BYTES
    for member in members:
        if member.is_dir() or member.filename.split("/")[0] in _FOLDERS_OF_TOOLS:
            continue
        if reason := _refused(member):
            notes.append(f"{name}: {member.filename!r} was left out: {reason}")
            continue
        target = folder.joinpath(*PurePosixPath(member.filename).parts)
        try:
            left -= _write(opened, member, target, min(left, MOST_FILE_BYTES + 1))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            notes.append(f"{name}: {member.filename!r} was left out: another file has its name")
            continue
        if left <= 0:
            raise CourseError(
                f"{name} unpacks to more than {MOST_BYTES >> 20} MiB and was not read to its end"
            )
    return notes


def _refused(member: zipfile.ZipInfo) -> str | None:
    """Why a member is not unpacked."""
    path = PurePosixPath(member.filename)
    mode = member.external_attr >> 16
    reasons = (
        (
            path.is_absolute() or ".." in path.parts or "\\" in member.filename,
            "its path leads out of the archive",
        ),
        (bool(stat.S_IFMT(mode)) and not stat.S_ISREG(mode), "it is no plain file (a link or a device)"),
        (bool(member.flag_bits & 1), "it is encrypted"),
        (path.suffix.lower() == ".zip", "a zip inside a zip is not opened; unpack it and hand in the folder"),
        (member.file_size > MOST_FILE_BYTES, f"it is larger than {MOST_FILE_BYTES >> 20} MiB"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def _write(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Unpack one member and return its size. The size in the directory may lie, so the bytes are counted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(member) as read, target.open("xb") as write:
        while written < most and (chunk := read.read(min(_CHUNK, most - written))):
            write.write(chunk)
            written += len(chunk)
    return written
