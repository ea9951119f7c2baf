"""Shows a grader in formgrader what an answer is judged by, its part of the mark scheme and the kernel, and
what a late submission loses. Feedback for students has neither scheme nor kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader import utils

from common.core.errors import CourseError
from grader.classes.submissions import read_source
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.kernels import submission_of
from grader.nbgrader.showing.late import late_penalty
from grader.spec import registry

_SECTION = re.compile(r"^## +(\S+)\s*$", re.MULTILINE)
_FOR_GRADERS = "*Only graders see this.*"


class BesideAnswers(Preprocessor):
    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        if "submission_id" not in resources:  # formgrader alone names the submission so
            return nb, resources
        assignment, student = resources["assignment_id"], resources["student"]
        scheme = mark_scheme(assignment)
        kernel = _kernel(ClassFolder(Path(self.config.CourseDirectory.root)), student, assignment)
        late = late_penalty(self, student, assignment)
        cells = [new_markdown_cell(late)] if late else []
        for cell in nb.cells:
            by_hand = utils.is_grade(cell) and utils.is_solution(cell)
            if by_hand and kernel:
                cells += [new_markdown_cell(f"**The kernel** as handed in. {_FOR_GRADERS}"), *kernel]
                kernel = []
            cells.append(cell)
            if by_hand and (section := scheme.get(cell.metadata.nbgrader["grade_id"])):
                cells.append(new_markdown_cell(f"**Mark scheme.** {_FOR_GRADERS}\n\n{section}"))
        nb.cells = cells
        return nb, resources


def mark_scheme(assignment: str) -> dict[str, str]:
    """The sections of an exercise's mark_scheme.md, by the names of their cells."""
    try:
        text = (registry.SOLUTIONS / assignment / "mark_scheme.md").read_text()
    except OSError:
        return {}
    _, *parts = _SECTION.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _kernel(folder: ClassFolder, student: str, assignment: str) -> list[NotebookNode]:
    try:
        source = read_source(submission_of(folder, student, assignment)).decode(errors="replace")
    except (CourseError, OSError) as problem:
        return [new_markdown_cell(f"It cannot be read: {problem}")]
    longest = max(map(len, re.findall("`+", source)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [new_markdown_cell(f"{fence}c++\n{source}\n{fence}")]
