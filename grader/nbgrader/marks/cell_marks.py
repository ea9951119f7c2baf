"""The points of each autograded cell of a notebook, and the reasons, from a record and answers read as data.

grade_id "part-SLUG"           a part of the kernel's points, by its name: part-correct, part-speed, a step's
grade_id "predictions-points"  the predictions of the cell "predictions", compared with their true values
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.nbgrader.handing_in.answers import Answers
from grader.nbgrader.marks.part_feedback import part_feedback, predictions_feedback
from grader.notebook.views.display import Display, sentence
from grader.questions.grading import grade
from grader.records.record import PartResult, Record
from grader.render.public import for_student
from grader.spec import Exercise

PART = "part-"
PREDICTIONS, PREDICTIONS_POINTS = "predictions", "predictions-points"
_NEVER_GRADED = "the grader has no points for this cell"


@dataclass(frozen=True)
class CellMark:
    points: float
    reasons: Display


def slug(name: str) -> str:
    """A part's name in a grade_id: lower case, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Marker:
    """Marks the cells of one submission."""

    def __init__(self, exercise: Exercise | None, record: Record | None, answers: Answers) -> None:
        self._exercise = exercise
        # The result is shown to the student: without the seed.
        self._record = None if record is None else for_student(record)
        self._answers = answers

    def mark(self, grade_id: str, most: float) -> CellMark:
        """Points between 0 and `most`: nbgrader reads a missing or a negative number as full marks."""
        found = self._mark(grade_id, most)
        return CellMark(min(max(found.points, 0.0), most), found.reasons)

    def _mark(self, grade_id: str, most: float) -> CellMark:
        if self._exercise is None or self._record is None:
            return CellMark(0.0, sentence(f"{_NEVER_GRADED}: its notebook belongs to no exercise"))
        if grade_id == PREDICTIONS_POINTS:
            return self._predictions(self._exercise, self._record, most)
        if grade_id.startswith(PART):
            return self._part(self._exercise, self._record, grade_id.removeprefix(PART), most)
        return CellMark(0.0, sentence(f"{_NEVER_GRADED}: {grade_id!r} names no part of the exercise"))

    def _part(self, exercise: Exercise, record: Record, name: str, most: float) -> CellMark:
        former = {slug(old): slug(new) for old, new in exercise.former_parts.items()}
        names = {former.get(slug(part.name), slug(part.name)): part for part in record.parts}
        part = names.get(former.get(name, name))
        if part is None and record.file.endswith(".py"):
            # In Python, right answers also earn the points that checks and mechanisms have in CUDA.
            part = next((part for part in record.parts if part.name == "correct"), None)
        if part is None:
            message = "; ".join((record.verdict, *record.flags)) or "the record has nothing about this part"
            part = PartResult(name, 0.0, most, message)
        points = part.points if part.max_points == most else _scaled(part, most)
        return CellMark(points, part_feedback(record, part, points, most))

    def _predictions(self, exercise: Exercise, record: Record, most: float) -> CellMark:
        results = grade(exercise.predictions, self._answers.values, record.measured, record.device)
        worth, earned = results.points, results.earned
        points = round(earned if worth == most else earned / worth * most if worth else 0.0, 2)
        # A kernel that never ran gives no values to compare them with.
        missing = {one.name: record.verdict for one in results.graded} | record.unmeasured
        return CellMark(points, predictions_feedback(results, missing, self._answers.problem))


def _scaled(part: PartResult, most: float) -> float:
    return round(part.points / part.max_points * most, 2) if part.max_points > 0 else 0.0
