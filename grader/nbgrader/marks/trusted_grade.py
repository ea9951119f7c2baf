"""Writes the points of every autograded cell, from the grader's record of the kernel and from answers read as
data. Outputs of a notebook do not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.handing_in.answers import Answers, read_answers
from grader.nbgrader.kernels import class_run, record_of
from grader.nbgrader.marks.cell_marks import PREDICTIONS, CellMark, Marker
from grader.nbgrader.marks.lab_sheet import LAB_POINTS, mark_sheet, shown_at_the_end
from grader.notebook.views.display import Display
from grader.records.record import Record
from grader.render.pages.markup import tag
from grader.spec import Exercise, registry
from grader.words import numbers

_NO_CELL = Answers({}, "there is no cell of predictions")


_at_hand: dict[tuple[str, str], Record] = {}


@contextmanager
def records_at_hand(records: Mapping[tuple[str, str], Record]) -> Iterator[None]:
    """Until the end of the block, these records are used, by student and assignment."""
    _at_hand.update(records)
    try:
        yield
    finally:
        _at_hand.clear()


class TrustedGrade(NbGraderPreprocessor):
    device = Unicode("", help="virtual or gpu; the course's official device when empty").tag(config=True)
    grader = Unicode("", help="the function that grades, as module:function").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        exercise = next((one for one in registry.exercise_folders() if one.name == about["assignment"]), None)
        loaded = None if exercise is None else registry.load(exercise)
        record = None if loaded is None else self._record(loaded, about["student"])
        marker = Marker(loaded, record, _answers(nb))
        folder, student = ClassFolder(Path(self.parent.parent.coursedir.root)), about["student"]
        asked = False
        for cell in nb.cells:
            # Cells that a person grades are answers, too; nbgrader leaves them to that person.
            if utils.is_grade(cell) and not utils.is_solution(cell):
                most = float(cell.metadata.nbgrader["points"])
                grade_id = cell.metadata.nbgrader["grade_id"]
                mark = None
                if grade_id == LAB_POINTS:
                    asked, mark = True, mark_sheet(folder, student, about["assignment"], most)
                _show(cell, mark or marker.mark(grade_id, most), most)
        if not asked and (mark := mark_sheet(folder, student, about["assignment"], None)):
            nb.cells.append(shown_at_the_end(mark))
        return nb, resources

    def _record(self, exercise: Exercise, student: str) -> Record:
        if (student, exercise.id) in _at_hand:
            return _at_hand[student, exercise.id]
        folder = ClassFolder(Path(self.parent.parent.coursedir.root))
        run = class_run(folder, device=self.device, grader=self.grader)
        return record_of(folder, run, student, exercise.id)


def _answers(nb: NotebookNode) -> Answers:
    for cell in nb.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == PREDICTIONS:
            return read_answers(cell.source)
    return _NO_CELL


def _show(cell: NotebookNode, mark: CellMark, most: float) -> None:
    """Show the reasons, then the number that nbgrader reads: a result whose text is a float."""
    earned = Display("", tag("p", tag("b", f"{numbers.points_of(mark.points, most)} points")))
    cell.outputs = [
        new_output("display_data", data=_both(mark.reasons)),
        new_output(
            "execute_result",
            data={"text/plain": repr(float(mark.points)), "text/html": earned._repr_html_()},
            execution_count=None,
        ),
    ]


def _both(shown: Display) -> dict[str, str]:
    return {"text/plain": repr(shown), "text/html": shown._repr_html_()}
