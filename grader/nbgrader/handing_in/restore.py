"""Restores a submitted notebook to the released one's structure; it keeps the student's answers and own
cells.

Deleted grade cells come back, copies of them do not count, and changes to a cell (its kind, its points, its
lock) are undone. Notes at the top list what was done.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from common.core.errors import CourseError
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.handing_in.handed_in import read_notes
from grader.nbgrader.handing_in.submitted import PROBLEM, read_notebook

MOST_CELLS = 1000
MOST_TEXT = 200_000  # characters of a cell
_MOST_ALL_TEXT = 4_000_000
_MOST_PICTURES = 6_000_000
_NAMED = 6
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


class RestoreCells(NbGraderPreprocessor):
    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        coursedir = self.parent.parent.coursedir
        released = coursedir.format_path(coursedir.release_directory, ".", about["assignment"])
        path = Path(released) / f"{about['notebook']}.ipynb"
        template = _template(path, _version(path))
        notes = read_notes(ClassFolder(Path(coursedir.root)), about["student"], about["assignment"])
        return restored(nb, template, notes), resources


def _version(path: Path) -> tuple[int, int]:
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_size


@functools.lru_cache(maxsize=8)
def _template(path: Path, version: tuple[int, int]) -> NotebookNode:
    """Nobody may change it: it is the same one for all submissions."""
    try:
        return read_notebook(path)
    except CourseError as problem:
        raise CourseError(
            f"the released notebook {path} cannot be read: {problem}. `./course nbgrader "
            f"generate_assignment {path.stem}` makes it."
        ) from problem


def restored(submitted: NotebookNode, template: NotebookNode, notes: Sequence[str] = ()) -> NotebookNode:
    """A well-formed notebook, whatever was submitted."""
    said = list(notes)
    problem = submitted.metadata.get(PROBLEM)
    if isinstance(problem, str):
        said.append(
            f"The notebook that was handed in could not be read: {problem}. Its answers count as not given; "
            "kernel.cu was graded."
        )
        cells = [_fresh(cell) for cell in template.cells]
    else:
        cells = _Restoration(template).of(submitted.cells, said)
    if said:
        text = "**From the grader:**\n\n" + "\n".join(f"- {_plain_text(note)}" for note in said)
        cells.insert(0, nbformat.v4.new_markdown_cell(text))
    made = nbformat.v4.new_notebook(cells=cells)
    if "kernelspec" in template.metadata:
        made.metadata["kernelspec"] = copy.deepcopy(template.metadata["kernelspec"])
    return made


@dataclass
class _Restoration:
    """Released cells by their grade_id, and the submitted cell for each."""

    template: NotebookNode
    known: dict[str, NotebookNode] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {name: cell for cell in self.template.cells if (name := _grade_id(cell))}

    def of(self, submitted: Sequence[NotebookNode], said: list[str]) -> list[NotebookNode]:
        if len(submitted) > MOST_CELLS:
            said.append(
                f"The notebook has {len(submitted):,} cells; those after the {MOST_CELLS:,}th are left out."
            )
            submitted = submitted[:MOST_CELLS]
        chosen = self._chosen(submitted)
        room = _Room()
        made: list[NotebookNode] = []
        copies: list[str] = []
        for index, cell in enumerate(submitted):
            name = _grade_id(cell)
            if name in self.known and chosen[name] == index:
                made.append(self._answered(name, cell, room))
            else:
                copies += [name] if name in self.known else []
                made.append(_free(cell, room))
        self._put_back(made, said)
        if copies:
            said.append(f"Copies of graded cells do not count: {_listed(copies)}.")
        if room.cut:
            said.append("The notebook holds more text or pictures than a grader reads; the rest is left out.")
        return made

    def _chosen(self, submitted: Sequence[NotebookNode]) -> dict[str, int]:
        """The first of several copies of a cell; for an answer, the first that is not empty."""
        chosen: dict[str, int] = {}
        for index, cell in enumerate(submitted):
            name = _grade_id(cell)
            if name in self.known and (
                name not in chosen
                or (
                    self._is_answer(name)
                    and submitted[chosen[name]].source == self.known[name].source
                    and cell.source != self.known[name].source
                )
            ):
                chosen[name] = index
        return chosen

    def _is_answer(self, name: str) -> bool:
        return bool(self.known[name].metadata.nbgrader.get("solution"))

    def _answered(self, name: str, cell: NotebookNode, room: _Room) -> NotebookNode:
        made = _fresh(self.known[name])
        if self._is_answer(name) and cell.source != made.source:
            made.source = _own_text(made.cell_type, cell, room)
            if made.cell_type == cell.cell_type:
                _attach(made, cell, room)
        return made

    def _put_back(self, made: list[NotebookNode], said: list[str]) -> None:
        """Put deleted cells back after the released cell that precedes each."""
        gone: list[str] = []
        before = ""
        places = _places(made)
        for name, cell in self.known.items():
            if name not in places:
                gone.append(name)
                made.insert(places[before] + 1 if before else 0, _fresh(cell))
                places = _places(made)
            before = name
        graded = [name for name in gone if self.known[name].metadata.nbgrader.get("grade")]
        if graded:
            said.append(f"Graded cells that had been deleted were put back: {_listed(graded)}.")


@dataclass
class _Room:
    """The remaining limits for text and for bytes of pictures."""

    characters: int = _MOST_ALL_TEXT
    pictures: int = _MOST_PICTURES
    cut: bool = False

    def text(self, text: str) -> str:
        most = min(MOST_TEXT, self.characters)
        self.characters -= min(len(text), most)
        if len(text) <= most:
            return text
        self.cut = True
        return text[:most] + "\n…"

    def pictures_of(self, kinds: Mapping[str, str]) -> bool:
        size = sum(map(len, kinds.values()))
        if size > self.pictures:
            self.cut = True
            return False
        self.pictures -= size
        return True


def _places(cells: Sequence[NotebookNode]) -> dict[str, int]:
    return {_grade_id(cell): index for index, cell in enumerate(cells)}


def _grade_id(cell: NotebookNode) -> str:
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    return name if isinstance(name, str) else ""


def _fresh(cell: NotebookNode) -> NotebookNode:
    """An unchanged copy of a released cell."""
    make = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
    made: NotebookNode = make(cell.source)
    if "nbgrader" in cell.metadata:
        made.metadata["nbgrader"] = nbformat.from_dict(dict(cell.metadata["nbgrader"]))
    return made


def _free(cell: NotebookNode, room: _Room) -> NotebookNode:
    """A cell of the student's own: its text, and pictures in it; no outputs and no metadata. Raw ones become
    Markdown: nbconvert writes them into its pages as they are."""
    code = cell.cell_type == "code"
    make = nbformat.v4.new_code_cell if code else nbformat.v4.new_markdown_cell
    made: NotebookNode = make(_own_text(cell.cell_type, cell, room))
    if not code:
        _attach(made, cell, room)
    return made


def _own_text(kind: str, cell: NotebookNode, room: _Room) -> str:
    """The cell's text without HTML: formgrader and feedback would run a student's script with their reader's
    rights.

    A zero-width space after each "<" that could begin a tag leaves code and formulas readable, and needs no
    knowledge of what Markdown treats as code.
    """
    text = room.text(cell.source)
    return text if kind == "code" else _TAG.sub("<\u200b", text)


def _attach(made: NotebookNode, cell: NotebookNode, room: _Room) -> None:
    pictures = cell.get("attachments", {})
    kept = {name: kinds for name, kinds in pictures.items() if room.pictures_of(kinds)}
    if kept:
        made["attachments"] = nbformat.from_dict(kept)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def _plain_text(note: str) -> str:
    """A note escaped for Markdown: a student's words in it stay text."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|$!" else sign for sign in " ".join(note.split()))[
        :2000
    ]
