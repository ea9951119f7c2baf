"""Writes the points of many submissions in one transaction: nbgrader's own steps, without their repetitions.

By itself nbgrader opens the gradebook a dozen times per submission, commits after each cell, compiles the
schema of its metadata for each, and writes and reads the notebook between its two lists of steps.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import jsonschema
import nbformat.v4.nbbase
import nbgrader.apps.api
from nbconvert.exporters import exporter
from nbgrader import api
from nbgrader.converters import Autograde
from nbgrader.converters.base import BaseConverter
from nbgrader.nbgraderformat import common
from sqlalchemy.orm import selectinload

from grader.nbgrader.marks.trusted_grade import records_at_hand
from grader.records.record import Record


@contextmanager
def one_transaction(
    functions: Any,
    pairs: Iterable[tuple[str, str]],
    records: Mapping[tuple[str, str], Record],
    committing: AbstractContextManager[Any],
) -> Iterator[None]:
    """What nbgrader writes about these submissions in this block is committed at its end, or not at all.
    `records` are those of the kernels, by student and assignment. `committing` is held meanwhile, which is
    when rows are locked that others may write, if no submission has to be added."""
    with _committed_at_end(functions, committing) as shared:
        _remember(shared, pairs)
        with records_at_hand(records), _patched(lambda *arguments, **options: shared):
            yield


def add_missing(functions: Any, pairs: Collection[tuple[str, str]]) -> None:
    """Add the submissions that the gradebook lacks, without points."""
    with _committed_at_end(functions, contextlib.nullcontext()) as shared:
        _add(shared, set(pairs) - set(_found(shared, pairs)))


@contextmanager
def _committed_at_end(functions: Any, committing: AbstractContextManager[Any]) -> Iterator[Any]:
    """The gradebook, of which nbgrader commits and closes nothing by itself."""
    coursedir = functions.coursedir
    shared = api.Gradebook(coursedir.db_url, coursedir.course_id)
    close, commit = shared.close, shared.db.commit
    shared.close = lambda: None
    shared.db.commit = lambda: None
    shared.db().autoflush = False  # before every query: none needs what is pending
    try:
        yield shared
        with committing:
            commit()
    finally:
        close()


class _OnePass(Autograde):
    """Both lists of steps on the notebook in memory, and a step that is in both once, at the end."""

    def convert_single_notebook(self, notebook_filename: str) -> None:
        steps = [*self.sanitize_preprocessors, *self.autograde_preprocessors]
        self.exporter._preprocessors = []
        for number, step in enumerate(steps):
            if step not in steps[number + 1 :]:
                self.exporter.register_preprocessor(step)
        BaseConverter.convert_single_notebook(self, notebook_filename)


_SAME_FOR_ALL = ("find_student", "find_assignment", "find_notebook", "find_source_cell", "find_graded_cell")


def _remember(shared: Any, pairs: Iterable[tuple[str, str]]) -> None:
    """Ask the database once for what all submissions share, and once for all rows of these submissions, which
    are made where they are missing. nbgrader's steps then find them here, and one flush writes all."""
    for name in _SAME_FOR_ALL:
        setattr(shared, name, functools.cache(getattr(shared, name)))
    submissions = _rows_of(shared, pairs)

    def find_submission(assignment: str, student: str) -> Any:
        return submissions[student, assignment]

    def find_submission_notebook(notebook: str, assignment: str, student: str) -> Any:
        found = (one for one in find_submission(assignment, student).notebooks if one.name == notebook)
        if (row := next(found, None)) is None:
            raise api.MissingEntry(f"no {notebook} in {assignment} of {student}")
        return row

    @functools.lru_cache(maxsize=1)
    def rows(*place: str) -> dict[tuple[str, str], Any]:
        found = find_submission_notebook(*place)
        return {(kind, row.cell.name): row for kind in ("grades", "comments") for row in getattr(found, kind)}

    def find(kind: str, cell: str, *place: str) -> Any:
        try:
            return rows(*place)[kind, cell]
        except KeyError as problem:
            raise api.MissingEntry(f"no {cell} in {'/'.join(place)}") from problem

    shared.find_submission, shared.find_submission_notebook = find_submission, find_submission_notebook
    shared.find_grade = functools.partial(find, "grades")
    shared.find_comment = functools.partial(find, "comments")


def _rows_of(shared: Any, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """The submissions by student and assignment, with all that belongs to them."""
    wanted = set(pairs)
    _add(shared, wanted - set(_found(shared, wanted)))
    shared.db.expire_all()  # what was made lacks columns that are queries, such as scores
    return _found(shared, wanted)


def _add(shared: Any, missing: Collection[tuple[str, str]]) -> None:
    for student in sorted({student for student, _ in missing}):
        shared.update_or_create_student(student)
    shared.db.flush()
    for student, assignment in sorted(missing):
        shared.add_submission(assignment, student)
    shared.db.flush()


def _found(shared: Any, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    notebook = api.SubmittedNotebook
    kinds = ((notebook.grades, api.Grade.cell), (notebook.comments, api.Comment.cell))
    notebooks = selectinload(api.SubmittedAssignment.notebooks)
    found = (
        shared.db.query(api.SubmittedAssignment)
        .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
        .filter(api.Assignment.name.in_({assignment for _, assignment in wanted}))
        .filter(api.SubmittedAssignment.student_id.in_({student for student, _ in wanted}))
        .options(selectinload(api.SubmittedAssignment.assignment))
        .options(*(notebooks.selectinload(rows).selectinload(cell) for rows, cell in kinds))
    )
    rows = {(one.student_id, one.assignment.name): one for one in found}
    return {pair: row for pair, row in rows.items() if pair in wanted}


@contextmanager
def _patched(gradebook: Callable[..., Any]) -> Iterator[None]:
    cells = types.SimpleNamespace(validate=_validate)
    own = api.Gradebook
    with contextlib.ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("nbgrader.") and vars(module).get("Gradebook") is own:
                stack.enter_context(mock.patch.object(module, "Gradebook", gradebook))
        stack.enter_context(mock.patch.object(nbgrader.apps.api, "Autograde", _OnePass))
        stack.enter_context(mock.patch.object(common, "jsonschema", cells))
        # Exporters copy the notebook before the steps: nobody else has it.
        stack.enter_context(mock.patch.object(exporter, "copy", types.SimpleNamespace(deepcopy=_itself)))
        # Each cell is made by us; the whole notebook is validated when it is written.
        stack.enter_context(mock.patch.object(nbformat.v4.nbbase, "validate", _accept))
        yield


def _accept(*arguments: Any, **options: Any) -> None: ...


def _itself(value: Any) -> Any:
    return value


def _validate(data: Any, schema: dict[str, Any]) -> None:
    _validate_text(json.dumps(data, sort_keys=True), json.dumps(schema, sort_keys=True))


@functools.lru_cache(maxsize=1000)
def _validate_text(data: str, schema: str) -> None:
    """Cells of one assignment have the same metadata in all submissions."""
    jsonschema.validate(json.loads(data), json.loads(schema))
