"""The Validate button, for students and instructors. It runs every cell; its result earns no points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).parent / "for_students"
_CELL_SECONDS = 600  # nbgrader gives a cell 30, which a first build alone can take


def allow_time_for_builds(c: Any) -> None:
    c.ExecutePreprocessor.timeout = _CELL_SECONDS
