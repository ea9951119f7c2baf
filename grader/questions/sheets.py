"""Grades the file in which a student answers the questions of an exercise's sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.questions.answer_files import read_answers, read_functions, read_measurement
from grader.questions.grading import Results, grade
from grader.spec import Exercise
from grader.spec.question import Sheet
from grader.words.text import one_line

MEASUREMENT = "measurement.json"  # beside the answers
_PYTHON = ".py"


def grade_file(exercise: Exercise, file: Path) -> Results:
    """Raises CourseError where the file, or the measurement beside it, cannot be read."""
    sheet = _sheet(exercise, file)
    starter = exercise.folder / sheet.file
    if file.suffix == _PYTHON:
        tried = {one.name: one.truth for one in sheet.questions}
        functions = read_functions(file, starter)
        return grade(sheet.questions, {name: functions.get(name) for name in tried}, tried)
    answers = read_answers(file, starter)
    return grade(sheet.questions, answers, _truths(exercise, sheet, file.with_name(MEASUREMENT), answers))


def _sheet(exercise: Exercise, file: Path) -> Sheet:
    """The one whose file is of the same kind."""
    for sheet in exercise.sheets:
        if Path(sheet.file).suffix == file.suffix:
            return sheet
    if not exercise.sheets:
        raise CourseError(f"{exercise.id} has no file of answers to grade: its notebook asks its questions")
    asked = " and ".join(sheet.file for sheet in exercise.sheets)
    raise CourseError(f"{exercise.id} asks for {asked}, and {file} is neither of them")


def _truths(exercise: Exercise, sheet: Sheet, path: Path, answers: Mapping[str, Any]) -> dict[str, Any]:
    remedy = f"`./course measure {exercise.number}` writes a whole one"
    measured = read_measurement(path, remedy)
    found = {}
    for question in sheet.questions:
        assert callable(question.truth)
        try:
            found[question.name] = question.truth(measured, answers)
        except (ValueError, ArithmeticError) as problem:
            raise CourseError(
                f"{path}: {question.name} does not follow from it ({one_line(str(problem))}): {remedy}"
            ) from problem
    return found
