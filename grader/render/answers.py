"""Graded answers as a table: what was asked, what the student wrote, what is right, points and the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from grader.questions.grading import Graded, Results
from grader.spec.question import Function
from grader.words import numbers
from grader.words.text import one_line, table, wrapped

_MOST_REASON = 400
NAME, POINTS = "answer", ">points"


def answers_table(
    results: Results, missing: Mapping[str, str] | None = None
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Columns and rows; empty columns are left out. `missing` has the reasons of pending answers."""
    graded = results.graded
    functions = all(isinstance(one.question.answer, Function) for one in graded)
    secret = all(one.question.truth is None for one in graded)
    columns: dict[str, Sequence[str]] = {NAME: [one.name for one in graded]}
    if not functions:
        columns[">yours"] = [one.yours for one in graded]
        if not secret:
            columns[">right"] = [one.right for one in graded]
    if results.points:
        columns[POINTS] = [_points(one) for one in graded]
    columns["why"] = [_why(one, missing or {}) for one in graded]
    return list(columns), list(zip(*columns.values(), strict=True))


def answers_title(name: str, results: Results) -> str:
    if results.points:
        return f"{name}: {numbers.points_of(results.earned, results.points)} points"
    right = sum(one.credit >= 1 for one in results.graded)
    return f"{name}: {right} of {len(results.graded)} right"


def unknown_text(results: Results) -> str:
    return f"There is no question {', '.join(results.unknown)}." if results.unknown else ""


def answers_text(name: str, results: Results) -> str:
    return table(*answers_table(results), answers_title(name, results)) + wrapped(unknown_text(results))


def _points(one: Graded) -> str:
    return "–" if one.pending else numbers.points_of(one.earned, one.points)


def _why(one: Graded, missing: Mapping[str, str]) -> str:
    return one_line(missing.get(one.name, one.reason) if one.pending else one.reason, _MOST_REASON)


def answers_json(results: Results) -> str:
    answers = [
        {"name": one.name, "points": one.earned, "max_points": one.points, "reason": one.reason}
        for one in results.graded
    ]
    totals = {"points": results.earned, "max_points": results.points, "unknown": results.unknown}
    return json.dumps({**totals, "answers": answers}, indent=1)
