"""Predictions as a notebook shows them: the questions, and the answers beside what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.notebook.views.display import Display, Earning, cut
from grader.questions.predictions import Marked, number_text
from grader.questions.quantities import QUANTITIES
from grader.render.pages.markup import Child, table, tag
from grader.spec.prediction import Prediction
from grader.words import numbers
from grader.words.text import table as text_table

_SIDES = {"baseline": "baseline.cu", "solution": "the reference solution", "yours": "your kernel.cu"}


class Questions(Display):
    """What is asked, and an answer cell to start from."""

    def __init__(self, asked: Sequence[Prediction]) -> None:
        rows = [(one.name, one.ask, _of(one), one.case, numbers.points(one.points)) for one in asked]
        columns = ("name", "what", "of", "at", ">points")
        cell = "predictions = {\n" + "".join(f'    "{one.name}": ...,\n' for one in asked) + "}"
        super().__init__(text_table(columns, rows, plain=True) + cell, table(columns, rows), tag("pre", cell))


class Comparison(Earning):
    """What each prediction earned. `credit` is the part of all points, 0 to 1."""

    def __init__(
        self,
        asked: Sequence[Prediction],
        marked: Sequence[Marked],
        missing: Mapping[str, str],
        unknown: Sequence[str] = (),
    ) -> None:
        self.marked = list(marked)
        most = sum(one.points for one in marked)
        earned = self.points = sum(one.earned for one in marked)
        self.credit = earned / most if most else 0.0
        title = f"Predictions: {numbers.points_of(earned, most)} points"
        typed = f"Nobody asked for {', '.join(unknown)}." if unknown else ""
        pairs = list(zip(asked, marked, strict=True))
        columns = ("prediction", ">yours", ">counted", ">points", "why")
        words = [
            (one.ask, _value(mark.answer), _counted(one, mark), _points(mark), _why(mark, missing))
            for one, mark in pairs
        ]
        rows: list[tuple[Child, ...]] = [
            (*row[:3], tag("span", row[3], class_=_kind(mark)), row[4])
            for row, (_, mark) in zip(words, pairs, strict=True)
        ]
        super().__init__(
            f"{title}\n{text_table(columns, words, plain=True)}{typed}",
            tag("h3", title),
            table(columns, rows),
            tag("p", typed, class_="doubt") if typed else None,
        )


def _of(one: Prediction) -> str:
    return f"{_SIDES[one.side]}{', where a GPU times it' if one.needs_gpu else ''}"


def _value(value: float | None) -> str:
    return "–" if value is None else number_text(value)


def _counted(one: Prediction, mark: Marked) -> str:
    """What was counted, once there is a prediction: before, it would spoil it."""
    if mark.measured is None or mark.answer is None:
        return "–"
    quantity = QUANTITIES[one.quantity]
    unit = f" {quantity.unit}" if quantity.unit else ""
    return f"{number_text(mark.measured)}{unit}{' (modelled)' if quantity.modelled else ''}"


def _points(mark: Marked) -> str:
    return "later" if mark.pending else numbers.points_of(mark.earned, mark.points)


def _why(mark: Marked, missing: Mapping[str, str]) -> str:
    return cut(missing.get(mark.name, mark.reason) if mark.pending else mark.reason, 400)


def _kind(mark: Marked) -> str:
    if mark.pending:
        return "faint"
    return "good" if mark.credit >= 1 else "doubt" if mark.credit > 0 else "bad"
