"""Grades what a student concluded from a measurement: numbers that follow from it, and a decision.

`grade_answers` is a pure function of answers.toml and measurement.json, both as dictionaries. Nothing in it
knows how fast a device should be: every right answer is computed from the measurement beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

CLOSE, NEAR = 0.10, 0.30  # relative errors that earn all and half of the points
NEAR_CREDIT = 0.5
DECISIONS = ("fuse", "leave")
# What every measurement must have: numbers, named by the way to them.
_NUMBERS = ("copies", "step_us", "worth_share", "step.copies", "step.separate_us")
_MOST_SHOWN = 60  # characters of a value that is not as it should be
_NUMBERS_OF_A_ROW = ("bytes", "separate_us", "one_us")


class Graded(NamedTuple):
    """What one answer earned, and why."""

    name: str
    points: float
    max_points: float
    reason: str


@dataclass(frozen=True)
class Question:
    """A number that follows from the measurement. `how` is told to whoever missed it."""

    name: str
    max_points: float
    right: Callable[[Mapping[str, Any]], float]
    how: str


def launch_us(measurement: Mapping[str, Any]) -> float:
    """What each launch but the first costs, where there is next to nothing to copy."""
    smallest = measurement["rows"][0]
    return (smallest["separate_us"] - smallest["one_us"]) / (measurement["copies"] - 1)


def saved_us(measurement: Mapping[str, Any]) -> float:
    """By one launch instead of one a copy."""
    return launch_us(measurement) * (measurement["step"]["copies"] - 1)


def overhead_share(measurement: Mapping[str, Any]) -> float:
    return saved_us(measurement) / measurement["step"]["separate_us"]


def predicted_speedup(measurement: Mapping[str, Any]) -> float:
    separate = measurement["step"]["separate_us"]
    return separate / (separate - saved_us(measurement))


def break_even_bytes(measurement: Mapping[str, Any]) -> float:
    """So many bytes take as long to copy as the launches that one copy saves: its time grows with bytes as it
    does between the two largest sizes."""
    less, more = measurement["rows"][-2:]
    bytes_per_us = (more["bytes"] - less["bytes"]) / (more["one_us"] - less["one_us"])
    return launch_us(measurement) * (measurement["copies"] - 1) * bytes_per_us


def decision(saved: float, measurement: Mapping[str, Any]) -> str:
    return "fuse" if saved >= measurement["worth_share"] * measurement["step_us"] else "leave"


QUESTIONS = (
    Question("launch_us", 2, launch_us, "(separate - one) / (copies - 1) in the first row"),
    Question(
        "overhead_share", 2, overhead_share, "launch_us times the step's further launches, over its copy time"
    ),
    Question(
        "predicted_speedup", 2, predicted_speedup, "the step's copy time, over that time less what is saved"
    ),
    Question(
        "break_even_bytes",
        2,
        break_even_bytes,
        "launch_us times (copies - 1), times the bytes a us between the last two rows of one copy",
    ),
)
DECISION_POINTS = 2.0


def grade_answers(answers: Mapping[str, Any], measurement: Mapping[str, Any]) -> list[Graded]:
    """One line for each answer, with partial credit; an answer that is missing or no number earns nothing."""
    if problem := problem_of(measurement):
        names = {question.name: question.max_points for question in QUESTIONS} | {"decision": DECISION_POINTS}
        told = f"{problem}: run reality_check.py again"
        return [Graded(name, 0.0, most, told) for name, most in names.items()]
    graded = [_grade_number(question, answers, measurement) for question in QUESTIONS]
    return [*graded, _grade_decision(answers, measurement)]


def problem_of(measurement: object) -> str:
    """What keeps anything from being concluded from a measurement, or nothing."""
    rows = _at(measurement, "rows")
    if not isinstance(rows, list) or len(rows) < 2:
        return f"`rows` of the measurement is {_shown(rows)}, but must be a list of two rows or more"
    of_rows = (f"rows.{number}.{name}" for number in range(len(rows)) for name in _NUMBERS_OF_A_ROW)
    for path in (*_NUMBERS, *of_rows):
        value = _at(measurement, path)
        if not _is_number(value) or value <= 0:
            return f"`{path}` of the measurement is {_shown(value)}, but must be a number above 0"
    assert isinstance(measurement, Mapping)  # or it would have no rows
    try:
        follows = all(0 < question.right(measurement) < math.inf for question in QUESTIONS)
    except (ZeroDivisionError, OverflowError):
        follows = False
    if not follows:
        return (
            "seven copies were no slower than one, large ones no slower than small ones, or a step took less "
            "time than its launches"
        )
    return ""


def _at(data: object, path: str) -> object:
    """The value at the end of a way such as rows.0.one_us; None where it leads nowhere."""
    for name in path.split("."):
        if isinstance(data, list) and name.isdecimal() and int(name) < len(data):
            data = data[int(name)]
        else:
            data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _grade_number(question: Question, answers: Mapping[str, Any], measurement: Mapping[str, Any]) -> Graded:
    name, most = question.name, question.max_points
    given = answers.get(name)
    if not _is_number(given):
        return Graded(name, 0.0, most, f"{name} is {_shown(given)}, but must be a number: {question.how}")
    right = question.right(measurement)
    error = abs(given - right) / abs(right)
    said = f"{given:.4g}, where the measurement gives {right:.4g}"
    if error <= CLOSE:
        return Graded(name, most, most, said)
    if error <= NEAR:
        return Graded(name, most * NEAR_CREDIT, most, f"{said}: near, but not within {CLOSE:.0%}")
    return Graded(name, 0.0, most, f"{said}: {question.how}")


def _grade_decision(answers: Mapping[str, Any], measurement: Mapping[str, Any]) -> Graded:
    """Right by the measurement earns all; half, when it follows from the student's own wrong number."""
    given = answers.get("decision")
    if given not in DECISIONS:
        said = f"decision is {_shown(given)}, but must be one of {', '.join(DECISIONS)}"
        return Graded("decision", 0.0, DECISION_POINTS, said)
    saved = saved_us(measurement)
    line = measurement["worth_share"] * measurement["step_us"]
    rule = f"one launch saves {saved:.2f} us a step, and is worth it from {line:.2f} us on"
    if given == decision(saved, measurement) or abs(saved - line) <= CLOSE * line:
        return Graded("decision", DECISION_POINTS, DECISION_POINTS, rule)
    own = answers.get("launch_us")
    if _is_number(own) and given == decision(own * (measurement["step"]["copies"] - 1), measurement):
        reason = f"follows from your own launch_us, but {rule}"
        return Graded("decision", DECISION_POINTS * NEAR_CREDIT, DECISION_POINTS, reason)
    return Graded("decision", 0.0, DECISION_POINTS, rule)


def fits_a_float(value: int | float) -> bool:
    """Whether Python can reckon with it: integers may have any number of digits."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and fits_a_float(value)


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python writes out neither thousands of digits nor of brackets
        return "too large"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
