"""A notebook to the course's rules, made for any exercise: predictions, parts, one question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.course import jupyter_kernel
from grader.nbgrader.marks.cell_marks import slug
from grader.questions.grading import asked_on
from grader.records.device_info import VIRTUAL, DeviceInfo
from grader.spec import Exercise

QUESTION = "q-why"
UNANSWERED = "*Your answer:*"


def tiny_notebook(exercise: Exercise) -> NotebookNode:
    cells = [
        new_markdown_cell(f"# {exercise.title}\n\nFree to edit."),
        _cell("set-up", f'from grader.notebook import Lab\n\nlab = Lab("{exercise.number}")', locked=True),
    ]
    if exercise.predictions:
        names = "".join(f'    "{one.name}": ...,  # {one.ask}\n' for one in exercise.predictions)
        cells.append(_cell("predictions", f"predictions = {{\n{names}}}", solution=True))
        worth = sum(one.points for one in asked_on(DeviceInfo(VIRTUAL, ""), exercise.predictions))
        cells.append(_cell("predictions-points", "lab.compare(predictions)", grade=True, points=worth))
    for name, worth in exercise.rubric.items():
        cells.append(_cell(f"part-{slug(name)}", f'lab.part("{name}")', grade=True, points=worth))
    cells.append(_cell(f"{QUESTION}-text", "Why?", markdown=True, locked=True))
    cells.append(_cell(QUESTION, UNANSWERED, markdown=True, grade=True, solution=True, points=5))
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = dict(jupyter_kernel.SPEC)
    return made


def write_tiny_notebook(exercise: Exercise, notebooks: Path) -> Path:
    path = notebooks / exercise.id / f"{exercise.id}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(tiny_notebook(exercise), path)
    return path


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def _cell(
    grade_id: str,
    source: str,
    *,
    markdown: bool = False,
    grade: bool = False,
    solution: bool = False,
    locked: bool = False,
    points: float | None = None,
) -> NotebookNode:
    about: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": grade,
        "solution": solution,
        "locked": locked or (grade and not solution),
        "task": False,
    }
    if points is not None:
        about["points"] = points
    make = new_markdown_cell if markdown else new_code_cell
    made: NotebookNode = make(source, id=grade_id, metadata={"nbgrader": about})
    return made
