"""Opens and checks a class's gradebook before anything is graded; fills a new one from the class folder."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from common.core.errors import CourseError
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder

_NOBODY = "nobody: taken back at once"
_SETTING = "its address is c.CourseDirectory.db_url in {config}, or --db=URL"


@contextmanager
def opened(functions: Any) -> Iterator[Any]:
    """The gradebook, until the end of the block. Raises CourseError if it cannot be opened."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        book = functions.gradebook
    except (SQLAlchemyError, ImportError, OSError) as problem:
        raise CourseError(_unusable(functions, problem)) from problem
    with book:
        yield book


def check_gradebook(folder: ClassFolder, arguments: Sequence[str] = ()) -> None:
    """Raises CourseError if points could not be written: before hours of grading, not after them."""
    with nbgrader_functions(folder, arguments) as functions, opened(functions) as book:
        must_be_usable(functions, book)


def must_be_usable(functions: Any, book: Any) -> None:
    """Every table has the columns that this nbgrader reads, and rows may be added."""
    from nbgrader.api import Base, Student
    from sqlalchemy import insert, select
    from sqlalchemy.exc import SQLAlchemyError

    try:
        for table in Base.metadata.sorted_tables:
            book.db.execute(select(table).limit(1))
        # A change of no rows would not tell: SQLite looks whether it may write when there is something.
        book.db.execute(insert(Student).values(id=_NOBODY))
    except SQLAlchemyError as problem:
        raise CourseError(_unusable(functions, problem)) from problem
    finally:
        book.db.rollback()


def read_at_once(book: Any, assignments: Sequence[str]) -> None:
    """Read these assignments' submissions with their scores in a few queries, and find them there from now
    on: nbgrader asks the database several times for each, and looks through all rows for each score."""
    from nbgrader.api import Assignment, MissingEntry, SubmittedAssignment
    from sqlalchemy.orm import selectinload
    from sqlalchemy.orm.attributes import set_committed_value

    found = (
        book.db.query(SubmittedAssignment)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name.in_(assignments))
        .options(selectinload(SubmittedAssignment.notebooks), selectinload(SubmittedAssignment.assignment))
    )
    rows = {(one.assignment.name, one.student_id): one for one in found}
    scores = _scores(book, assignments)
    for one in rows.values():
        score, to_read = scores.get(one.id, (0.0, 0))
        values = {"score": score, "max_score": one.assignment.max_score, "needs_manual_grade": bool(to_read)}
        for name, value in values.items():
            set_committed_value(one, name, value)

    def find_submission(assignment: str, student: str) -> Any:
        try:
            return rows[assignment, student]
        except KeyError as problem:
            raise MissingEntry(f"no submission of {assignment} by {student}") from problem

    book.find_submission = find_submission
    book.find_assignment = functools.cache(type(book).find_assignment.__get__(book))


def _scores(book: Any, assignments: Sequence[str]) -> dict[str, tuple[float, int]]:
    """The sum of a submission's points and how many of its cells a person has to read, by its id."""
    from nbgrader.api import Assignment, Grade, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import case, func

    to_read = func.sum(case((Grade.needs_manual_grade, 1), else_=0))
    found = (
        book.db.query(SubmittedNotebook.assignment_id, func.sum(Grade.score), to_read)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name.in_(assignments))
        .group_by(SubmittedNotebook.assignment_id)
    )
    return {one: (float(score), number) for one, score, number in found}


def fill(functions: Any, folder: ClassFolder, assignments: Sequence[str]) -> list[str]:
    """Put released assignments into the gradebook that it lacks, as they were released: a new gradebook has
    none. Returns these."""
    from nbgrader.utils import temp_attrs

    with opened(functions) as book:
        known = {one.name for one in book.assignments if one.notebooks}
    missing = [name for name in assignments if name not in known]
    for name in missing:
        # Made from the released notebooks, and not released again: students have those.
        with tempfile.TemporaryDirectory(dir=folder.grades, prefix=".released-") as scratch:
            coursedir = functions.coursedir
            with temp_attrs(coursedir, source_directory=str(folder.release), release_directory=scratch):
                must_succeed(f"entering {name} into the gradebook", functions.generate_assignment(name))
    return missing


def _unusable(functions: Any, problem: Exception) -> str:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    coursedir = functions.coursedir
    try:
        shown = make_url(coursedir.db_url).render_as_string(hide_password=True)
    except SQLAlchemyError:
        shown = str(coursedir.db_url)
    reason = " ".join(str(getattr(problem, "orig", None) or problem).split())
    return f"the gradebook {shown} cannot be used: {reason}. {_advice(reason, coursedir.root)}"


# What a database says, and what to do then.
_ADVICE = (
    ("no such column", "Another version of nbgrader made it: `./course nbgrader db upgrade` changes it."),
    ("does not exist", "Make the database first, or name another: {setting}."),
    ("readonly", "Give yourself the right to write the file and its folder."),
    ("locked", "Another program is writing to it: end that first."),
    ("No module named", "Install that package into the course's environment (for PostgreSQL: psycopg)."),
)


def _advice(reason: str, root: str) -> str:
    setting = _SETTING.format(config=f"{root}/nbgrader_config.py")
    found = (advice for words, advice in _ADVICE if words in reason)
    return next(found, "Check its address: {setting}.").format(setting=setting)
