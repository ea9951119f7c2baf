"""Conclusions from a measurement of seven copies against one: four numbers, and a decision.

No device's speed is written here: every right answer is computed from the measurement that
benchmarks/copies/reality_check.py left beside the student's answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from grader.spec.question import Accepted, Choice, Question, Within
from grader.words.text import one_line

Measured = Mapping[str, Any]
CLOSE = 0.10  # relative error that earns all points
NEAR = ((CLOSE, 1.0), (0.30, 0.5))
FUSE, LEAVE = "fuse", "leave"


def number(measured: object, path: str) -> float:
    """The number at the end of a path such as rows.0.one_us."""
    value: Any = measured
    try:
        for name in path.split("."):
            value = value[int(name) if isinstance(value, list) else name]
    except (LookupError, TypeError, ValueError):
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        shown = "missing" if value is None else one_line(repr(value), 60)
        raise ValueError(f"`{path}` is {shown}, but must be a number above 0")
    return float(value)


def launch_us(measured: Measured) -> float:
    """The cost of each launch after the first, with almost nothing to copy."""
    more = number(measured, "rows.0.separate_us") - number(measured, "rows.0.one_us")
    return _above_zero(more / (number(measured, "copies") - 1), "seven copies were no slower than one")


def saved_us(measured: Measured, launch: float) -> float:
    """Microseconds that one launch saves, against one launch per copy."""
    return launch * (number(measured, "step.copies") - 1)


def overhead_share(measured: Measured) -> float:
    return saved_us(measured, launch_us(measured)) / number(measured, "step.separate_us")


def predicted_speedup(measured: Measured) -> float:
    return 1 / _above_zero(1 - overhead_share(measured), "a step took less time than its launches")


def break_even_bytes(measured: Measured) -> float:
    """The bytes that one copy moves in the time of the launches that it saves, at the rate between the
    two largest sizes."""
    rows = f"rows.{len(measured['rows']) - 2}", f"rows.{len(measured['rows']) - 1}"
    (less, more), (short, long) = (
        [number(measured, f"{row}.{name}") for row in rows] for name in ("bytes", "one_us")
    )
    bytes_per_us = _above_zero((more - less) / (long - short), "large copies were no slower than small ones")
    return launch_us(measured) * (number(measured, "copies") - 1) * bytes_per_us


def decision(measured: Measured, answers: Mapping[str, Any]) -> Accepted:
    """Near the line both are right; half for the one that follows from the student's own wrong number."""
    line = number(measured, "worth_share") * number(measured, "step_us")
    saved = saved_us(measured, launch_us(measured))
    rule = f"one launch saves {saved:.2f} us per step; fusing pays from {line:.2f} us on"
    right: dict[str | int, float] = {_decided(saved, line): 1.0}
    own: Any = answers.get("launch_us")
    if abs(saved - line) <= CLOSE * line:
        right |= {FUSE: 1.0, LEAVE: 1.0}
    elif type(own) in (int, float) and abs(own) < 1e18:  # else it would overflow
        right.setdefault(_decided(saved_us(measured, own), line), 0.5)
    return Accepted(right, rule)


def _decided(saved: float, line: float) -> str:
    return FUSE if saved >= line else LEAVE


def _above_zero(value: float, otherwise: str) -> float:
    if not 0 < value < math.inf:
        raise ValueError(otherwise)
    return value


def _conclusion(right: Callable[[Measured], float], ask: str, unit: str, how: str) -> Question:
    return Question(right.__name__, ask, Within(NEAR, unit), lambda measured, _: right(measured), 2, how)


CONCLUSIONS = (
    _conclusion(
        launch_us,
        "the cost of each launch after the first, by the first row",
        "us",
        "(separate - one) / (copies - 1) in the first row",
    ),
    _conclusion(
        overhead_share,
        "the step's launches after the first, at launch_us each, over its copies' time: 0 to 1",
        "",
        "launch_us times the step's launches after the first, over its copy time",
    ),
    _conclusion(
        predicted_speedup,
        "of the step's copies, if only these launches were gone",
        "×",
        "the step's copy time, over that time minus the saving",
    ),
    _conclusion(
        break_even_bytes,
        "the bytes that one copy moves in the time of the launches that it saves against seven",
        "bytes",
        "launch_us times (copies - 1), times the bytes per us between the last two rows of one copy",
    ),
    Question(
        "decision", "by the rule in the statement: fuse or leave", Choice((FUSE, LEAVE)), decision, points=2
    ),
)
