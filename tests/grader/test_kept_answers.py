"""An answer that is wrong in a later call was kept from the first one, or it was never good enough."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from common.virtual_gpu.report import Report
from grader.spec import Comparison, Exact, Relative
from grader.stages.correctness import _judge_anew
from tests.grader.test_compare import double, exercise, problem

FIRST, LATER = 1.0, 3.0  # what every element was multiplied with


def reason(compare: Comparison, left: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a later call on other values, whose output holds `left` times the right answer of the first."""
    monkeypatch.setattr("grader.stages.correctness._judge_kernels", lambda report, changed: ("", ""))
    size, call = problem(spare=0)
    first = {name: tensor.clone() for name, tensor in call.buffers.items()}
    double(size, first)
    call.buffers["x"].mul_(LATER)
    after = {**{name: tensor.clone() for name, tensor in call.buffers.items()}, "out": first["out"] * left}
    outcomes: list[Any] = [SimpleNamespace(ok=True, after=each, report=Report()) for each in (after, first)]
    case: Any = SimpleNamespace(size=size)
    return _judge_anew(exercise(compare), case, call, *outcomes)[0]


def test_the_first_answer_once_more_was_kept(monkeypatch):
    assert reason(Relative(), FIRST, monkeypatch) == reason(Exact(), FIRST, monkeypatch) == "kept answer"


def test_an_answer_that_is_only_imprecise_was_not(monkeypatch):
    assert reason(Relative(), LATER * 1.01, monkeypatch) == "mismatch"


def test_the_right_answer_is_right(monkeypatch):
    assert reason(Exact(), LATER, monkeypatch) == ""
