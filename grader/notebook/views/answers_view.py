"""Questions as a notebook shows them, and the answers beside the right ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.notebook.views.display import Display, Earning
from grader.questions.grading import Graded, Results
from grader.render.answers import NAME, POINTS, answers_table, unknown_text
from grader.render.pages.markup import Child, table, tag
from grader.spec.question import Counted, Question
from grader.words import numbers
from grader.words.text import table as text_table

_SIDES = {"baseline": "baseline.cu", "solution": "the reference solution", "yours": "your kernel.cu"}


class Questions(Display):
    """The quantities to predict, and an answer cell to start from."""

    def __init__(self, asked: Sequence[Question]) -> None:
        rows = [(one.name, one.ask, *_of(one), numbers.points(one.points)) for one in asked]
        columns = ("name", "what", "of", "at", ">points")
        cell = "predictions = {\n" + "".join(f'    "{one.name}": ...,\n' for one in asked) + "}"
        super().__init__(text_table(columns, rows, plain=True) + cell, table(columns, rows), tag("pre", cell))


class Answers(Earning):
    """The points of each answer. `credit` is the share of all points, 0 to 1."""

    def __init__(self, title: str, results: Results, missing: Mapping[str, str] | None = None) -> None:
        self.results = results
        self.points = results.earned
        self.credit = results.earned / results.points if results.points else 0.0
        unknown = unknown_text(results)
        columns, rows = answers_table(results, missing)
        coloured = [_coloured(columns, *pair) for pair in zip(rows, results.graded, strict=True)]
        super().__init__(
            f"{title}\n{text_table(columns, rows, plain=True)}{unknown}",
            tag("h3", title),
            table(columns, coloured),
            tag("p", unknown, class_="doubt") if unknown else None,
        )


def _of(one: Question) -> tuple[str, str]:
    assert isinstance(one.truth, Counted)
    return f"{_SIDES[one.truth.side]}{', where a GPU times it' if one.needs_gpu else ''}", one.truth.case


def _coloured(columns: Sequence[str], row: Sequence[str], one: Graded) -> tuple[Child, ...]:
    """A row with the question after its name, and the points in the colour of their share."""
    cells: dict[str, Child] = dict(zip(columns, row, strict=True))
    cells[NAME] = f"{one.name}: {one.question.ask}"
    if POINTS in cells:
        kind = "faint" if one.pending else "good" if one.credit >= 1 else "doubt" if one.credit > 0 else "bad"
        cells[POINTS] = tag("span", cells[POINTS], class_=kind)
    return tuple(cells.values())
