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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jsonschema
import nbformat.v4.nbbase
import nbformat.v4.nbjson
import nbgrader.apps.api
from nbconvert.exporters import exporter
from nbgrader import api
from nbgrader.converters import Autograde
from nbgrader.converters.base import BaseConverter
from nbgrader.nbgraderformat import common

from grader.nbgrader.marks.trusted_grade import records_at_hand
from grader.records.record import Record


@contextmanager
def one_transaction(functions: Any, records: Mapping[tuple[str, str], Record]) -> Iterator[None]:
    """What nbgrader writes into the gradebook in this block is committed at its end, or not at all.
    `records` are those of the kernels, by student and assignment."""
    coursedir = functions.coursedir
    shared = api.Gradebook(coursedir.db_url, coursedir.course_id)
    close, commit = shared.close, shared.db.commit
    shared.close = lambda: None
    shared.db.commit = lambda: None
    shared.db().autoflush = False  # before every query; _remember does it before those that need it
    _remember(shared)
    try:
        with records_at_hand(records), _patched(lambda *arguments, **options: shared):
            yield
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


_OF_A_SUBMISSION = ("find_submission", "find_submission_notebook")
_SAME_FOR_ALL = ("find_assignment", "find_notebook", "find_source_cell", "find_graded_cell")


def _remember(shared: Any) -> None:
    """Ask the database once for what all submissions share, and once for the cells of a submission."""
    for name in _SAME_FOR_ALL:
        setattr(shared, name, functools.cache(getattr(shared, name)))

    # The rows of the submission being written, which may be pending; a missing one is asked for again.
    for name in _OF_A_SUBMISSION:
        setattr(shared, name, functools.lru_cache(maxsize=1)(_flushed(shared, getattr(shared, name))))

    @functools.lru_cache(maxsize=1)
    def rows(*place: str) -> dict[tuple[str, str], Any]:
        found = shared.find_submission_notebook(*place)
        return {(kind, row.cell.name): row for kind in ("grades", "comments") for row in getattr(found, kind)}

    def find(kind: str, cell: str, *place: str) -> Any:
        try:
            return rows(*place)[kind, cell]
        except KeyError as problem:
            raise api.MissingEntry(f"no {cell} in {'/'.join(place)}") from problem

    shared.find_grade = functools.partial(find, "grades")
    shared.find_comment = functools.partial(find, "comments")


def _flushed(shared: Any, find: Callable[..., Any]) -> Callable[..., Any]:
    """A query that sees what is pending."""

    def found(*place: str) -> Any:
        shared.db.flush()
        return find(*place)

    return found


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
        # Exporters copy the notebook before each list of steps and before they write it: nobody else has it.
        for module in (exporter, nbformat.v4.nbjson):
            stack.enter_context(mock.patch.object(module, "copy", types.SimpleNamespace(deepcopy=_itself)))
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
