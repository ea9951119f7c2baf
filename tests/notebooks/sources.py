"""The notebooks of the course as tests find them, and working copies of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from common.core.paths import REPOSITORY
from grader.spec import Exercise, registry

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


def working_copy(notebook: Path, folder: Path, kernel: Path | None = None) -> Path:
    """The notebook as a student has it, with the starter beside it, or another kernel in its place."""
    exercise = exercise_of(notebook)
    if exercise is not None:
        (folder / "kernel.cu").write_bytes((kernel or exercise.starter).read_bytes())
    copy = folder / notebook.name
    copy.write_bytes(notebook.read_bytes())
    return copy


def execute(copy: Path, seconds: int = 900) -> list[Cell]:
    """Its code cells after a run from the first to the last; raises where one raises."""
    import nbclient
    import nbformat

    found = nbformat.read(copy, as_version=4)
    resources = {"metadata": {"path": str(copy.parent)}}
    client = nbclient.NotebookClient(found, timeout=seconds, kernel_name="python3", resources=resources)
    paths = (str(REPOSITORY), os.environ.get("PYTHONPATH", ""))
    state = {"XDG_STATE_HOME": str(copy.parent / "state")}
    client.execute(env={**os.environ, **state, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    return [dict(cell) for cell in found.cells if cell.cell_type == "code"]


def html_of(cell: Cell) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell["outputs"])


def text_shown(cell: Cell) -> str:
    """What it shows without a browser: texts of answers, and what was printed."""
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"]
    )
