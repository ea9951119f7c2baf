"""The notebooks of the course as tests find them, and working copies of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.cache import REPOSITORY
from grader import registry
from grader.spec import Exercise

NOTEBOOKS = REPOSITORY / "notebooks"

Cell = dict[str, Any]


def all_notebooks() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*/*.ipynb"))


def exercise_of(notebook: Path) -> Exercise | None:
    """None for a notebook that only shows the tools."""
    name = notebook.parent.name
    return next((exercise for exercise in registry.all_exercises() if exercise.id == name), None)


def read(notebook: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(notebook.read_text())
    return loaded


def text_of(cell: Cell) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def graded(cell: Cell) -> dict[str, Any]:
    """What nbgrader knows of a cell; nothing, for one that is not its business."""
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


def cells_of(notebook: Path, prefix: str) -> list[Cell]:
    """Those whose grade_id begins so, in order."""
    return [cell for cell in read(notebook)["cells"] if graded(cell).get("grade_id", "").startswith(prefix)]
