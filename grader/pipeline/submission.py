"""A submitted file, read once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from grader.spec import Exercise

_MOST_SOURCE = 1 << 20
_PYTHON = ".py"


@dataclass(frozen=True)
class Submission:
    """One file for one exercise. `name` is the student's; the record keeps `text`."""

    name: str
    exercise: Exercise
    path: Path
    text: str
    sha256: str

    @staticmethod
    def read(name: str, exercise: Exercise, path: Path) -> Submission:
        data = path.read_bytes()[:_MOST_SOURCE]
        digest = hashlib.sha256(data).hexdigest()
        return Submission(name, exercise, path, data.decode(errors="replace"), digest)

    @property
    def in_python(self) -> bool:
        return self.path.suffix == _PYTHON

    @property
    def file(self) -> str:
        """The exercise's name for such a file."""
        return "kernel.py" if self.in_python else "kernel.cu"
