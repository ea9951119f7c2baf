"""What a folder of sources says. Every start of an engine asks: a file is read again only when it changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from common.build.unit import hash_file

_File = tuple[str, int, int, int]  # where it lies, its number, its size, and when it was changed
_SETTLED_NS = 1_000_000_000  # a later change has another time, however coarse the clock of the files is
_remembered: dict[tuple[str, tuple[str, ...]], tuple[list[_File], list[str]]] = {}


def hashed_sources(folder: Path, endings: tuple[str, ...]) -> list[str]:
    """Of every file below `folder` whose name ends so, its path as seen from there and its hash, in order."""
    files = sorted(_files(str(folder), "", endings), key=lambda file: file[0].split("/"))
    known, hashes = _remembered.get((str(folder), endings), ([], []))
    if known != files:
        now = time.time_ns()
        hashes = [f"{path} {hash_file(folder / path)}" for path, *_ in files]
        if all(now - changed > _SETTLED_NS for *_, changed in files):
            _remembered[str(folder), endings] = files, hashes
    return hashes


def _files(folder: str, prefix: str, endings: tuple[str, ...]) -> Iterator[_File]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _files(entry.path, f"{prefix}{entry.name}/", endings)
        elif entry.name.endswith(endings):
            about = entry.stat()
            yield f"{prefix}{entry.name}", about.st_ino, about.st_size, about.st_mtime_ns
