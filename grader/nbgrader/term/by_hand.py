"""Points and comments that people gave, kept in the class folder too: grades/by_hand.json.

A gradebook that is new or was replaced gets them back. Where one of them is gone from the gradebook, a note
says so, and the file as it was is kept beside the new one.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_whole
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.term.plan import Pair
from grader.words.numbers import counted

Cell = tuple[str, str]  # an assignment and the name of one of its cells
Given = dict[str, dict[str, dict[str, dict[str, Any]]]]  # assignment, student, cell: what was given

_MOST_NAMED = 3


def by_hand_path(folder: ClassFolder) -> Path:
    return folder.grades / "by_hand.json"


def read_given(folder: ClassFolder) -> Given:
    path = by_hand_path(folder)
    try:
        found: Given = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise CourseError(
            f"{path}, which keeps the points that people gave, cannot be read: {problem}. Mend or remove it."
        ) from problem
    return found


def keep_given(folder: ClassFolder, book: Any, dropped: Collection[Cell]) -> Iterator[str]:
    """Write what people gave into the class folder; yields a note about what the gradebook has no more.
    What they gave for `dropped` cells is kept here alone."""
    before, now = read_given(folder), _given_in(book)
    there = {(one.student_id, one.assignment.name) for one in _submissions(book)}
    lost = []
    for assignment, student, cell, what in _rows(before):
        if cell in now.get(assignment, {}).get(student, {}):
            continue
        if (student, assignment) in there and (assignment, cell) not in dropped:
            lost.append(f"{student}, {assignment}, {cell}: {_in_words(what)}")
        else:  # of a new gradebook, or waiting until the question counts again
            now.setdefault(assignment, {}).setdefault(student, {})[cell] = what
    if now == before:
        return
    path = by_hand_path(folder)
    if lost:
        old = path.with_name(f"by_hand.{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S}.json")
        write_whole(old, path.read_text(), private=True)
        more = f", and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        yield (
            f"{counted(len(lost), 'entry', 'entries')} given by hand before and no longer in the gradebook "
            f"({'; '.join(lost[:_MOST_NAMED])}{more}): kept in {old}"
        )
    write_whole(path, json.dumps(now, indent=1, sort_keys=True), private=True)


def give_back(book: Any, pair: Pair, given: Given, dropped: Collection[str]) -> None:
    """Write what people gave a submission into its rows, but for dropped cells."""
    student, assignment = pair
    wanted = given.get(assignment, {}).get(student, {})
    for notebook in book.find_submission(assignment, student).notebooks:
        rows = {grade.name: grade for grade in notebook.grades}
        comments = {comment.name: comment for comment in notebook.comments}
        for cell, what in wanted.items():
            if cell in dropped:
                continue
            if cell in rows and ("points" in what or "extra" in what):
                rows[cell].manual_score, rows[cell].extra_credit = what.get("points"), what.get("extra")
            if cell in comments and "comment" in what:
                comments[cell].manual_comment = what["comment"]


def _given_in(book: Any) -> Given:
    from nbgrader.api import Comment, Grade
    from sqlalchemy import or_

    found: Given = {}

    def put(row: Any, **what: Any) -> None:
        cells = found.setdefault(row.assignment.name, {}).setdefault(row.student.id, {})
        cells.setdefault(row.name, {}).update(
            {name: value for name, value in what.items() if value is not None}
        )

    given = or_(Grade.manual_score.isnot(None), Grade.extra_credit.isnot(None))
    for grade in book.db.query(Grade).filter(given):
        put(grade, points=grade.manual_score, extra=grade.extra_credit)
    for comment in book.db.query(Comment).filter(Comment.manual_comment.isnot(None)):
        put(comment, comment=comment.manual_comment)
    return found


def _submissions(book: Any) -> Any:
    from nbgrader.api import SubmittedAssignment

    return book.db.query(SubmittedAssignment)


def _rows(given: Given) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for assignment, students in given.items():
        for student, cells in students.items():
            for cell, what in cells.items():
                yield assignment, student, cell, what


def _in_words(what: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in what.items())
