"""A submission in Python as a program: a file that workers import."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from grader.python_track.triton_source import launches_a_kernel
from grader.spec import PythonTrack


@dataclass(frozen=True)
class PythonProgram:
    """The file is in its own folder: workers may read the files beside it."""

    path: Path
    track: PythonTrack
    in_triton: bool  # whether the file launches a Triton kernel

    @property
    def timed(self) -> bool:
        """Torch's own operations are not timed: they earn points for right answers only."""
        return self.in_triton


def python_program(source: Path, text: str, track: PythonTrack, folder: Path) -> PythonProgram:
    folder.mkdir()
    return PythonProgram(Path(shutil.copy(source, folder / track.file)), track, launches_a_kernel(text))
