"""Grades what a student concluded from a measurement: numbers that follow from it, and a decision.

`grade_answers` is a pure function of answers.toml and measurement.json, both as dictionaries. Nothing in it
knows how fast a device should be: every right answer is computed from the measurement beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

CLOSE, NEAR = 0.10, 0.30  # relative errors that earn all and half of the points
NEAR_CREDIT = 0.5
DECISIONS = ("fuse", "leave")


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
    """So many bytes take as long to copy as the launches that are saved: time grows with bytes as it does
    between the two largest sizes."""
    less, more = measurement["rows"][-2:]
    bytes_per_us = (more["bytes"] - less["bytes"]) / (more["one_us"] - less["one_us"])
    return launch_us(measurement) * (measurement["copies"] - 1) * bytes_per_us


def decision(saved: float, measurement: Mapping[str, Any]) -> str:
    return "fuse" if saved >= measurement["worth_share"] * measurement["step_us"] else "leave"


QUESTIONS = (
    Question("launch_us", 2, launch_us, "(separate - one) / (copies - 1) in the first row"),
    Question("overhead_share", 2, overhead_share, "launch_us times the step's further launches, of its time"),
    Question("predicted_speedup", 2, predicted_speedup, "the step's time, over that time less what is saved"),
    Question("break_even_bytes", 2, break_even_bytes, "what is saved, times the slope of the last two rows"),
)
DECISION_POINTS = 2.0


def grade_answers(answers: Mapping[str, Any], measurement: Mapping[str, Any]) -> list[Graded]:
    """One line for each answer, with partial credit; an answer that is missing or no number earns nothing."""
    if problem := _problem(measurement):
        names = {question.name: question.max_points for question in QUESTIONS} | {"decision": DECISION_POINTS}
        return [Graded(name, 0.0, most, problem) for name, most in names.items()]
    graded = [_grade_number(question, answers, measurement) for question in QUESTIONS]
    return [*graded, _grade_decision(answers, measurement)]


def _problem(measurement: Mapping[str, Any]) -> str:
    """A sentence when nothing can be concluded from a measurement."""
    try:
        numbers = [question.right(measurement) for question in QUESTIONS]
        numbers.append(measurement["worth_share"] * measurement["step_us"])
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError) as missing:
        return f"the measurement is not whole ({missing!r}): run reality_check.py again"
    if not all(number > 0 for number in numbers):
        return "seven copies were no slower than one, or large ones no slower than small ones: measure again"
    return ""


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


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)
