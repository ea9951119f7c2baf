"""Finds what the cost model cannot model: a submission that does it gets no modelled speed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from common.build.toolchain import find_nvcc

_FILE = re.compile(r'^[ \t]*+\.file[ \t]++(\d+)[ \t]++"([^"]+)"', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\b(?:.*\binlined_at\s+(\d+)\s+(\d+))?")
_SLEEP = re.compile(r"\bnanosleep\.")
_MOST_BYTES = 64 << 20  # of a library; an ordinary one has a few MiB
_PTX = re.compile(r"^\.version [^\0]*", re.MULTILINE)


def unmodelled(library: Path) -> str:
    """A sentence when the submission's own code lets threads sleep. `library` is built for the virtual GPU
    and holds its PTX as text. Sleeps inside loops of CUDA's headers that wait for a barrier are allowed."""
    if library.stat().st_size > _MOST_BYTES:
        return f"the library is larger than {_MOST_BYTES >> 20} MiB, too large to be examined: leave data out"
    for file, line in _sleeps(library.read_bytes().decode(errors="replace")):
        return (
            f"{Path(file).name}:{line} lets threads sleep (nanosleep), which is not modelled: there "
            "is no modelled time. Remove it"
        )
    return ""


def _sleeps(text: str) -> Iterator[tuple[str, int]]:
    """File and line of every sleep outside CUDA's own headers."""
    toolchain = find_nvcc().root.resolve()
    for ptx in _PTX.findall(text):
        files = {number: Path(name).resolve() for number, name in _FILE.findall(ptx)}
        places: list[tuple[str, int]] = []
        for line in ptx.splitlines():
            if found := _LOC.match(line):
                numbers = found.groups()
                pairs = zip(numbers[::2], numbers[1::2], strict=True)
                places = [(file, int(at)) for file, at in pairs if file is not None]
            elif _SLEEP.search(line):
                for file, at in places:
                    if file in files and not files[file].is_relative_to(toolchain):
                        yield str(files[file]), at
                        break
