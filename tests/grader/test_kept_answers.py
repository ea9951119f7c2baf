"""An answer that is wrong in a later call was kept from the first one, or it was never good enough."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.devices.session import Outcome
from grader.devices.time_budget import TimeBudget
from grader.pipeline.judging.cases import _judge_anew, _wrong_by_itself
from grader.spec import Call, Comparison, Exact, Relative
from tests.grader.test_compare import double, exercise, problem

FIRST, LATER = 1.0, 3.0  # what every element was multiplied with


def reason(compare: Comparison, left: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a later call on other values, whose output holds `left` times the right answer of the first."""
    monkeypatch.setattr("grader.pipeline.judging.cases.not_by_kernels", lambda report, changed: "")
    size, call = problem(spare=0)
    first = {name: tensor.clone() for name, tensor in call.buffers.items()}
    double(size, first)
    call.buffers["x"].mul_(LATER)
    after = {**{name: tensor.clone() for name, tensor in call.buffers.items()}, "out": first["out"] * left}
    outcomes = [Outcome(after=each) for each in (after, first)]
    case: Any = SimpleNamespace(size=size)
    return _judge_anew(exercise(compare), case, call, *outcomes)[0]


def test_the_first_answer_repeated_was_kept(monkeypatch):
    assert reason(Relative(), FIRST, monkeypatch) == reason(Exact(), FIRST, monkeypatch) == "kept answer"


def test_an_imprecise_answer_was_not_kept(monkeypatch):
    assert reason(Relative(), LATER * 1.01, monkeypatch) == "mismatch"


def test_the_right_answer_is_right(monkeypatch):
    assert reason(Exact(), LATER, monkeypatch) == ""


class Forgetful:
    """A session whose worker is right once, and in a later call as its library is."""

    def __init__(self, times: float) -> None:
        self.times, self.closed = times, False

    def close(self) -> None:
        self.closed = True

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        assert self.closed
        after = {name: tensor.clone() for name, tensor in call.buffers.items()}
        double(problem(spare=0)[0], after)
        after["out"] *= self.times
        return Outcome(after=after)


@pytest.mark.parametrize(("times", "wrong"), [(1.0, False), (2.0, True)])
def test_a_fresh_worker_that_is_wrong_has_kept_nothing(times: float, wrong: bool):
    """A mistake that few values show may be right in the first call: that is no cheating."""
    size, call = problem(spare=0)
    case: Any = SimpleNamespace(size=size)
    session: Any = Forgetful(times)
    assert _wrong_by_itself(exercise(Exact()), session, case, call, TimeBudget()) is wrong
