"""Reads an untrusted notebook within limits, with a sentence where it cannot be read."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter, NotebookExporter

from common.core.errors import CourseError

MOST_BYTES = 16 << 20
PROBLEM = "submission_problem"  # in the metadata of an unreadable notebook's replacement; never in a file

_PICTURES = ("image/png", "image/jpeg", "image/gif")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_KINDS = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """The notebook as data, without outputs. Raises CourseError with the reason when it is not a notebook."""
    try:
        # O_NONBLOCK: opening a pipe without a writer would block for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise CourseError("it is a symbolic link" if path.is_symlink() else _refusal(problem)) from problem
    with os.fdopen(handle, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise CourseError("it is not a regular file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise CourseError(f"it is larger than {MOST_BYTES >> 20} MiB")
    if not data:
        raise CourseError("it is empty")
    try:
        plain = json.loads(data)
    except RecursionError as problem:
        raise CourseError("it is nested too deeply") from problem
    except ValueError as problem:
        raise CourseError(f"it is not JSON ({problem})") from problem
    _must_be_notebook(plain)
    made = nbformat.v4.new_notebook(cells=[_cell(cell) for cell in plain["cells"]])
    if isinstance(spec := plain["metadata"].get("kernelspec"), dict):
        made.metadata["kernelspec"] = spec
    return made


def _cell(plain: dict[str, Any]) -> nbformat.NotebookNode:
    """A well-formed cell with the kind, text, pictures and nbgrader id of the original."""
    kind = plain.get("cell_type")
    make = _KINDS[kind] if isinstance(kind, str) and kind in _KINDS else nbformat.v4.new_raw_cell
    made = make(_text(plain.get("source")))
    metadata = plain.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(about, dict):
        made.metadata["nbgrader"] = nbformat.from_dict(about)
    if kind == "markdown" and (pictures := _pictures(plain.get("attachments"))):
        made["attachments"] = nbformat.from_dict(pictures)
    return made


def _pictures(attachments: object) -> dict[str, dict[str, str]]:
    kept: dict[str, dict[str, str]] = {}
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        for kind, data in kinds.items() if isinstance(kinds, dict) else ():
            if kind in _PICTURES and isinstance(data, str) and _BASE64.fullmatch(data):
                kept.setdefault(_text(name), {})[kind] = data
    return kept


def _text(source: object) -> str:
    """Notebooks keep text as a list of lines. Half of a surrogate pair is legal in JSON, but cannot be
    written to a file."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return source.encode(errors="replace").decode() if isinstance(source, str) else ""


def _refusal(problem: OSError) -> str:
    return f"it cannot be opened ({problem.strerror})"


def _must_be_notebook(plain: Any) -> None:
    if not isinstance(plain, dict) or not isinstance(plain.get("cells"), list):
        raise CourseError("it is JSON, but not a notebook of format 4: it has no list of cells")
    if not isinstance(plain.get("metadata"), dict):
        raise CourseError("it is not a notebook: it has no metadata")
    if not all(isinstance(cell, dict) for cell in plain["cells"]):
        raise CourseError("it is not a notebook: one of its cells is invalid")


def _empty_notebook(problem: str) -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook()
    made.metadata[PROBLEM] = problem
    return made


class SubmittedNotebookExporter(NotebookExporter):
    """nbgrader itself fails with a traceback on a damaged notebook, and the student gets nothing. Here an
    empty notebook replaces it, which RestoreCells fills."""

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        path = Path(filename)
        try:
            notebook = read_notebook(path)
        except CourseError as problem:
            self.log.warning("%s: %s", filename, problem)
            notebook = _empty_notebook(str(problem))
        resources = self._init_resources(resources)
        resources["metadata"].update(name=path.stem, path=str(path.parent))
        made: tuple[str, dict[str, Any]] = self.from_notebook_node(notebook, resources=resources, **kwargs)
        return made

    def from_notebook_node(
        self, nb: nbformat.NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        """A cell in each row. nbconvert validates what the steps made; to write it, nbformat would copy and
        validate it once more, and indent it with an encoder that is written in Python."""
        made, resources = Exporter.from_notebook_node(self, nb, resources, **kwargs)
        return _in_rows(made), resources


def _in_rows(notebook: nbformat.NotebookNode) -> str:
    cells = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in notebook.cells)
    others = {name: value for name, value in notebook.items() if name != "cells"}
    rest = "".join(f",\n{json.dumps(name)}: {json.dumps(value)}" for name, value in others.items())
    return f'{{"cells": [\n{cells}\n]{rest}}}\n'
