"""What predicted numbers earn, once they were counted.

An exercise lists its predictions in a table (grader/spec/prediction.py). Marking is a function of plain data
alone, the answers and the values that were measured: it runs nothing of the student's and can be repeated
anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.records.device_info import DeviceInfo
from grader.spec.prediction import Prediction
from grader.words.text import one_line

MOST_ANSWERS = 200
_LARGEST = 1e18
_EQUAL = 1e-9  # relative: what arithmetic may do to a number that is meant to be exact
_NAMED = 5


@dataclass(frozen=True)
class Marked:
    """What one answer earned, 0 to 1, and why. `pending` ones could not be held against anything yet."""

    name: str
    credit: float
    points: float  # that it could earn
    answer: float | None
    measured: float | None
    reason: str
    pending: bool = False

    @property
    def earned(self) -> float:
        return self.credit * self.points


def asked_on(device: DeviceInfo, predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """Those that can be held against something on the device: nobody gains or loses by what
    cannot be known there."""
    return tuple(one for one in predictions if not (device.modelled and one.needs_gpu))


def mark(asked: Sequence[Prediction], answers: object, measured: Mapping[str, float]) -> list[Marked]:
    """One result for each prediction, in their order, whatever `answers` is."""
    given, complaint = _given(answers)
    return [_mark_one(one, given, complaint, measured.get(one.name)) for one in asked]


def unknown_names(asked: Sequence[Prediction], answers: object) -> list[str]:
    """The first few names that nobody asked for: most often a typing mistake."""
    given, _ = _given(answers)
    known = {one.name for one in asked}
    return [one_line(str(name), 40) for name in given if isinstance(name, str) and name not in known][:_NAMED]


def closeness(answer: float, measured: float, full: float, none: float) -> float:
    """Credit from 0 to 1 for a finite answer."""
    if measured == 0 or answer == 0:
        return 1.0 if answer == measured else 0.0
    if (answer < 0) != (measured < 0):
        return 0.0
    off = abs(math.log(abs(answer)) - math.log(abs(measured)))
    best, worst = math.log(full) + _EQUAL, math.log(none)
    if off <= best:
        return 1.0
    return max(0.0, (worst - off) / (worst - best)) if worst > best else 0.0


def _given(answers: object) -> tuple[Mapping[object, object], str]:
    """The answers as a dict, and what is wrong with all of them together."""
    if not isinstance(answers, dict):
        return {}, f"the answers are no dict of names and numbers but {_a(type(answers).__name__)}"
    if len(answers) > MOST_ANSWERS:
        return {}, f"the answers hold {len(answers):,} names where at most {MOST_ANSWERS} were expected"
    return answers, ""


def _mark_one(
    one: Prediction, given: Mapping[object, object], complaint: str, measured: float | None
) -> Marked:
    number, problem = _number(given.get(one.name))
    problem = complaint or problem
    if measured is not None and not math.isfinite(measured):
        measured = None
    if problem:
        return Marked(one.name, 0.0, one.points, None, measured, problem)
    assert number is not None
    if measured is None:
        told = "there is nothing to hold it against yet"
        return Marked(one.name, 0.0, one.points, number, None, told, pending=True)
    credit = closeness(number, measured, one.full, one.none)
    return Marked(one.name, credit, one.points, number, measured, _reason(one, number, measured, credit))


def _number(value: object) -> tuple[float | None, str]:
    """A finite number, or what is there instead. A bool is no number here: True would pass for 1."""
    if value is None or value is ...:
        return None, "not answered yet"
    if type(value) not in (int, float):
        return None, f"a number was expected, not {_a(type(value).__name__)}"
    assert isinstance(value, int | float)
    if not -_LARGEST <= value <= _LARGEST:  # infinities and NaN too
        return None, "a finite number of reasonable size was expected"
    return float(value), ""


def _reason(one: Prediction, answer: float, measured: float, credit: float) -> str:
    if credit >= 1.0:
        exact = math.isclose(answer, measured, rel_tol=_EQUAL)
        said = "right" if exact else "close enough"
    elif measured == 0 or answer == 0 or (answer < 0) != (measured < 0):
        said = f"{number_text(measured)} was wanted"
    else:
        factor = max(answer / measured, measured / answer)
        times = f"{(factor - 1) * 100:.3g} %" if factor < 2 else f"{factor:.3g} times"
        said = f"{times} too {'high' if abs(answer) > abs(measured) else 'low'}"
    return f"{said}: {one.why}" if one.why else said


def number_text(value: float) -> str:
    """ "4,096", "1.43"."""
    if abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}"


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {one_line(noun, 40)}"
