"""Unpacks a zip of submissions, which is untrusted."""

from __future__ import annotations

import lzma
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from common.core.errors import CourseError

MOST_FILES = 20_000
MOST_BYTES = 256 << 20  # all files together, unpacked
MOST_FILE_BYTES = 1 << 20  # a larger file is no submission
_CHUNK = 1 << 16
_FOLDERS_OF_TOOLS = ("__MACOSX",)
_HANDED_IN = (".cu", ".py", ".zip")  # what may be a student's only file
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)


@dataclass
class Unpacked:
    """`notes` are sentences about what was left out. A source that was left out has an empty file in its
    place and its reason in `problems`, so that its student gets a verdict."""

    notes: list[str] = field(default_factory=list)
    problems: dict[Path, str] = field(default_factory=dict)


def unpack(archive: Path, folder: Path) -> Unpacked:
    """Unpack the regular files of `archive` below `folder`.

    Raises CourseError when it is not a zip or unpacks to more than the limits.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            return _unpack(opened, folder, archive.name)
    except (*_BROKEN, OSError, ValueError) as problem:
        raise CourseError(f"{archive.name} cannot be unpacked: {problem}") from problem


def _unpack(opened: zipfile.ZipFile, folder: Path, name: str) -> Unpacked:
    members = opened.infolist()
    if len(members) > MOST_FILES:
        raise CourseError(f"{name} holds {len(members):,} files; at most {MOST_FILES:,} are unpacked")
    out = Unpacked()
    left = MOST_BYTES
    for member in members:
        if member.is_dir() or member.filename.split("/")[0] in _FOLDERS_OF_TOOLS:
            continue
        if _leads_out(member):
            out.notes.append(f"{name}: {member.filename!r} was left out: its path leads out of the archive")
            continue
        target = folder.joinpath(*PurePosixPath(member.filename).parts)
        try:
            reason = _refused(member)
            if not reason:
                left -= _write(opened, member, target, min(left, MOST_FILE_BYTES + 1))
        except _BROKEN as problem:
            reason = f"it cannot be unpacked ({problem})"
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            out.notes.append(f"{name}: {member.filename!r} was left out: another file has its name")
            continue
        if reason:
            out.notes.append(f"{name}: {member.filename!r} was left out: {reason}")
            _hold_its_place(target, reason, out)
        if left <= 0:
            raise CourseError(
                f"{name} unpacks to more than {MOST_BYTES >> 20} MiB and was not read to its end"
            )
    return out


def _leads_out(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    return path.is_absolute() or ".." in path.parts or "\\" in member.filename


def _refused(member: zipfile.ZipInfo) -> str:
    """Why a member is not unpacked; empty when it is."""
    mode = member.external_attr >> 16
    reasons = (
        (bool(stat.S_IFMT(mode)) and not stat.S_ISREG(mode), "it is not a regular file (a link or a device)"),
        (bool(member.flag_bits & 1), "it is encrypted"),
        (
            PurePosixPath(member.filename).suffix.lower() == ".zip",
            "a zip inside a zip is not opened; unpack it and hand in the folder",
        ),
        (member.file_size > MOST_FILE_BYTES, f"it is larger than {MOST_FILE_BYTES >> 20} MiB"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def _hold_its_place(target: Path, reason: str, out: Unpacked) -> None:
    if target.suffix.lower() not in _HANDED_IN:
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # another file has its name
    out.problems[target] = reason


def _write(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Unpack one member and return its size. The size in the directory may be false, so bytes are counted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with opened.open(member) as read, target.open("xb") as write:
        while written < most and (chunk := read.read(min(_CHUNK, most - written))):
            write.write(chunk)
            written += len(chunk)
    return written
