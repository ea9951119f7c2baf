"""The kinds of answers: how each is read, its credit, and its comment."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.questions.student_code import line_of
from grader.spec.question import Accepted, Answer, Choice, Factor, Function, Line, Within
from grader.words.text import one_line

_LARGEST = 1e18
_EQUAL = 1e-9  # relative: rounding of a number that is meant to be exact
_MOST_SHOWN = 60  # characters of an invalid answer


class NotAnAnswer(Exception):
    """The answer cannot be graded; the text explains why."""


@dataclass(frozen=True)
class Kind:
    """`read` returns an answer or raises NotAnAnswer; `judge` returns credit, 0 to 1, and a few words."""

    read: Callable[[Any, object], Any]
    judge: Callable[[Any, Any, Any], tuple[float, str]]
    missing: str = "not answered yet"
    blanks: tuple[str | int, ...] = ("", "?")  # values of a file that is not filled in

    def is_blank(self, given: object) -> bool:
        plain = given.strip() if isinstance(given, str) else given
        return plain is None or plain is ... or (type(plain) in (str, int) and plain in self.blanks)


def read_number(_: Factor | Within, given: object) -> float:
    """A bool is refused: True would count as 1."""
    if type(given) not in (int, float):
        raise NotAnAnswer(f"a number was expected, not {_a(type(given).__name__)}")
    assert isinstance(given, int | float)
    if not -_LARGEST <= given <= _LARGEST:  # infinities and NaN too
        raise NotAnAnswer("a finite number of reasonable size was expected")
    return float(given)


def by_factor(kind: Factor, answer: float, truth: float) -> float:
    if truth == 0 or answer == 0:
        return 1.0 if answer == truth else 0.0
    if (answer < 0) != (truth < 0):
        return 0.0
    off = abs(math.log(abs(answer)) - math.log(abs(truth)))
    best, worst = math.log(kind.full) + _EQUAL, math.log(kind.none)
    if off <= best:
        return 1.0
    return max(0.0, (worst - off) / (worst - best)) if worst > best else 0.0


def by_error(kind: Within, answer: float, truth: float) -> float:
    error = abs(answer - truth)
    return next((credit for share, credit in kind.steps if error <= share * abs(truth)), 0.0)


def _judge_number(credit_of: Callable[[Any, float, float], float]) -> Callable[..., tuple[float, str]]:
    def judge(kind: Factor | Within, answer: float, truth: float) -> tuple[float, str]:
        credit = credit_of(kind, answer, truth)
        if credit >= 1:
            return credit, "right" if math.isclose(answer, truth, rel_tol=_EQUAL) else "close enough"
        if truth == 0 or answer == 0 or (answer < 0) != (truth < 0):
            return credit, f"{number_text(truth)} was expected"
        factor = max(answer / truth, truth / answer)
        times = f"{(factor - 1) * 100:.3g} %" if factor < 2 else f"{factor:.3g} times"
        return credit, f"{times} too {'high' if abs(answer) > abs(truth) else 'low'}"

    return judge


def read_choice(kind: Choice, given: object) -> str:
    if not isinstance(given, str):
        raise NotAnAnswer(f"{shown(given)} is not text; expected a word of the list in quotes")
    plain = {_plain(word): word for word in kind.words}
    word = plain.get(_plain(given))
    if word is None:
        close = difflib.get_close_matches(_plain(given)[:_MOST_SHOWN], plain, n=1)
        guess = f"; did you mean {plain[close[0]]!r}?" if close else f": {', '.join(kind.words)}"
        raise NotAnAnswer(f"{shown(given)} is not on the list{one_line(guess)}")
    return word


def read_line(kind: Line, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise NotAnAnswer(f"{shown(given)} is not a whole number; expected one without quotes: line = 12")
    if not 1 <= given <= kind.last:
        raise NotAnAnswer(f"{shown(given)} is not a line of {kind.file}, which has lines 1 to {kind.last}")
    return given


def _judge_accepted(_: Choice | Line, answer: str | int, truth: Accepted) -> tuple[float, str]:
    """Never shows the right answer: keys stay secret."""
    credit = truth.credits.get(answer, 0.0)
    return credit, "right" if credit >= 1 else "partly right" if credit > 0 else f"{answer!r} is wrong"


def read_function(_: Function, given: object) -> Callable[..., Any]:
    if not callable(given):
        raise NotAnAnswer(f"a function was expected, not {_a(type(given).__name__)}")
    return given


def _judge_function(
    _: Function, function: Callable[..., Any], tried: Callable[[Any], bool]
) -> tuple[float, str]:
    try:
        return (1.0, "does what it says") if tried(function) else (0.0, "does something else")
    except Exception as error:  # student code may raise anything
        return 0.0, one_line(f"raises {type(error).__name__}{_at(error, function)}: {error}")


def _at(error: Exception, function: Callable[..., Any]) -> str:
    """Where in the function's file it was raised: " at line 12"; empty for what has no source."""
    code = getattr(function, "__code__", None)
    line = line_of(error, code.co_filename) if code is not None else None
    return f" at line {line}" if line else ""


KINDS: dict[type[Answer], Kind] = {
    Factor: Kind(read_number, _judge_number(by_factor)),
    Within: Kind(read_number, _judge_number(by_error)),
    Choice: Kind(read_choice, _judge_accepted),
    Line: Kind(read_line, _judge_accepted, "not answered yet: lines count from 1", ("", "?", 0)),
    Function: Kind(read_function, _judge_function, "is not in this file any more"),
}


def number_text(value: float) -> str:
    """ "4,096", "1.43"."""
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4):
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def _plain(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.strip().lower()))


def shown(value: object) -> str:
    """A student's value as text."""
    try:
        return one_line(repr(value), _MOST_SHOWN)
    except (ValueError, RecursionError):  # Python refuses to print thousands of digits or brackets
        return "a value too long to show"


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {one_line(noun, 40)}"
