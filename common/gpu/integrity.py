"""Is the code that keeps the time still the code on disk? Looked at from outside, in the worker's memory."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_PIECE = 1 << 22


def changed_code(pid: int, names: tuple[str, ...]) -> str:
    """The name of a mapped library whose code is not what its file holds, or nothing.

    `names` are beginnings of file names. Code is never relocated in shared libraries, so it must be equal.
    """
    try:
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/mem", "rb") as memory:
            for line in maps:
                fields = line.split(maxsplit=5)
                if len(fields) < 6 or not Path(fields[5]).name.startswith(names):
                    continue
                low, high = (int(part, 16) for part in fields[0].split("-"))
                if "x" in fields[1] and not _same(memory, low, high - low, fields[5], int(fields[2], 16)):
                    return Path(fields[5]).name
    except OSError:
        return ""  # it is gone, which others notice
    return ""


def _same(memory: BinaryIO, address: int, size: int, path: str, offset: int) -> bool:
    with open(path, "rb") as file:
        file.seek(offset)
        memory.seek(address)
        while size > 0:
            wanted = file.read(min(size, _PIECE))
            if not wanted:
                return True  # the rest of the last page
            if memory.read(len(wanted)) != wanted:
                return False
            size -= len(wanted)
    return True
