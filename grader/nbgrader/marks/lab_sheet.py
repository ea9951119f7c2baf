"""The sheet of a lab, answers.toml, that is handed in beside a notebook: graded by the lab's key.

A notebook may have a graded cell "lab-points" for it. Without one the result is shown at the notebook's end
and counts nothing.
"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from common.core.errors import CourseError
from grader.lab.lab import FaultLab, find_lab
from grader.lab.sheet import questions, read_key
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.marks.cell_marks import CellMark
from grader.notebook.views.answers_view import Answers
from grader.notebook.views.display import sentence
from grader.questions.answer_files import read_answers
from grader.questions.grading import grade
from grader.render.answers import answers_title
from grader.spec import registry

LAB_POINTS = "lab-points"


def lab_of(assignment: str) -> FaultLab | None:
    there = (registry.EXERCISES / assignment / "lab" / "lab.py").is_file()
    return find_lab(assignment) if there else None


def sheet_of(folder: ClassFolder, student: str, lab: FaultLab) -> Path | None:
    """Beside the notebook, or in a folder as in the exercise."""
    place = folder.handed_in(student, lab.exercise)
    found = (place / lab.sheet.name, place / lab.folder.name / lab.sheet.name)
    return next((path for path in found if path.is_file()), None)


def mark_sheet(folder: ClassFolder, student: str, assignment: str, most: float | None) -> CellMark | None:
    """Out of `most` points, or of the lab's own where it is None. None where there is no lab, or nothing to
    mark and no cell that asks for it."""
    lab = lab_of(assignment)
    sheet = None if lab is None else sheet_of(folder, student, lab)
    if lab is None or sheet is None:
        return None if most is None else CellMark(0.0, sentence("no answers.toml of the lab was handed in"))
    try:
        results = grade(questions(lab), read_answers(sheet, lab.sheet), read_key(lab))
    except CourseError as problem:
        return CellMark(0.0, sentence(str(problem).replace(str(sheet), sheet.name)))
    earned = results.earned if most is None else round(results.earned / results.points * most, 2)
    return CellMark(earned, Answers(answers_title(lab.title, results), results))


def shown_at_the_end(mark: CellMark) -> NotebookNode:
    cell = new_code_cell("# answers.toml of the lab, graded by its key; it counts nothing here")
    data = {"text/plain": repr(mark.reasons), "text/html": mark.reasons._repr_html_()}
    cell.outputs = [new_output("display_data", data=data)]
    return cell
