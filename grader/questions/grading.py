"""Grades a student's answers to a list of questions.

The result depends only on plain data, the answers and the truths. Only a `Function` runs student code, on the
student's own machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.questions.kinds import KINDS, NotAnAnswer, number_text, shown
from grader.questions.quantities import QUANTITIES
from grader.records.device_info import GPU, DeviceInfo
from grader.spec.question import Accepted, Counted, Function, Prose, Question, Within
from grader.words.text import one_line

MOST_ANSWERS = 200
_NAMED = 5
_NOTHING = "–"
_ANY_GPU = DeviceInfo(GPU, "")
_NO_TRUTH = "there is nothing to compare it with yet"


@dataclass(frozen=True)
class Graded:
    """The credit of one answer, 0 to 1, and the reason. A `pending` one has no truth yet."""

    question: Question
    credit: float
    reason: str
    yours: str = _NOTHING  # as shown
    right: str = _NOTHING
    answered: bool = False
    pending: bool = False

    @property
    def name(self) -> str:
        return self.question.name

    @property
    def points(self) -> float:
        """The most that it can earn."""
        return self.question.points

    @property
    def earned(self) -> float:
        return self.credit * self.points


@dataclass(frozen=True)
class Results:
    """One result per question that a machine grades, in order."""

    graded: tuple[Graded, ...]
    unknown: tuple[str, ...]  # the first few names that match no question: most often typing mistakes

    @property
    def points(self) -> float:
        return sum(one.points for one in self.graded)

    @property
    def earned(self) -> float:
        return sum(one.earned for one in self.graded)


def asked_on(device: DeviceInfo, questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions that have a truth on the device; the others do not count there."""
    return tuple(one for one in questions if not (device.modelled and one.needs_gpu))


def grade(
    questions: Sequence[Question], answers: object, truths: Mapping[str, Any], device: DeviceInfo = _ANY_GPU
) -> Results:
    """`answers` may be anything. `truths` are the known right answers by question name."""
    known = {one.name for one in questions}
    given, complaint = _given(answers, known)
    asked = (one for one in asked_on(device, questions) if not isinstance(one.answer, Prose))
    graded = tuple(
        Graded(one, 0.0, complaint) if complaint else _grade(one, given.get(one.name), truths.get(one.name))
        for one in asked
    )
    unknown = [one_line(name, 40) for name in given if isinstance(name, str) and name not in known]
    return Results(graded, tuple(unknown[:_NAMED]))


def _given(answers: object, known: set[str]) -> tuple[Mapping[object, object], str]:
    """The answers by name, and a sentence if they cannot be read at all."""
    if not isinstance(answers, dict):
        kind = one_line(type(answers).__name__, 40)
        return {}, f"the answers are of type {kind}, not a dict of names and values"
    given = dict(_by_name(answers, known))
    if len(given) > MOST_ANSWERS:
        return {}, f"the answers hold {len(given):,} names where at most {MOST_ANSWERS} were expected"
    return given, ""


def _by_name(answers: dict[object, object], known: set[str]) -> Iterator[tuple[object, object]]:
    """`fault` in a table `one` is "one.fault"."""
    for name, value in answers.items():
        if isinstance(value, dict) and value and name not in known:
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _grade(question: Question, given: object, truth: Any) -> Graded:
    kind = KINDS[type(question.answer)]
    if kind.is_blank(given):
        return Graded(question, 0.0, kind.missing)
    try:
        answer = kind.read(question.answer, given)
    except NotAnAnswer as problem:
        return Graded(question, 0.0, str(problem), shown(given), answered=True)
    yours = number_text(answer) if isinstance(answer, float) else str(answer)
    if truth is None or (isinstance(truth, float) and not math.isfinite(truth)):
        return Graded(question, 0.0, _NO_TRUTH, yours, answered=True, pending=True)
    credit, words = kind.judge(question.answer, answer, truth)
    why = (truth.why if isinstance(truth, Accepted) else "") or question.why
    reason = f"{words}: {why}" if why else words
    return Graded(question, credit, reason, yours, _right(question, truth), answered=True)


def _right(question: Question, truth: Any) -> str:
    """The truth as a student may see it; truths from a key are never shown."""
    if isinstance(truth, Accepted):
        best = [str(word) for word, credit in truth.credits.items() if credit >= 1]
        return _NOTHING if question.truth is None else " or ".join(best)
    if isinstance(question.answer, Function):
        return _NOTHING
    unit, modelled = "", False
    if isinstance(question.truth, Counted):
        quantity = QUANTITIES[question.truth.quantity]
        unit, modelled = quantity.unit, quantity.modelled
    elif isinstance(question.answer, Within):
        unit = question.answer.unit
    return f"{number_text(truth)}{f' {unit}' if unit else ''}{' (modelled)' if modelled else ''}"
