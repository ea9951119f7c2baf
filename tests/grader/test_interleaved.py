"""An implausible time is measured again, and each measurement replaces the one before."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, Self

import pytest

from grader.devices.on_gpu.timed import InWorker, Timing
from grader.spec import BASELINE, Case
from grader.timing.measured import interleaved
from grader.timing.measured.plausibility import Samples, fits_clock, works_on

SIDES = (BASELINE, "submission")
EVENT = 100e-6


class Side(InWorker):
    """A worker whose events say EVENT, and whose batches and tails the test decides."""

    def __init__(self, batches: Iterator[float], tails: Iterator[float] | None = None) -> None:
        self._batches, self._tails = batches, tails or itertools.repeat(0.0)

    def _orders(self):
        raise AssertionError("nothing is asked of a worker here")

    def time(self) -> Timing:
        return Timing(EVENT, EVENT + next(self._tails))

    def time_many(self, count: int) -> tuple[float, float]:
        return next(self._batches), EVENT


class FakeComparison:
    count = 1

    def __init__(self, sides: dict[str, Side]) -> None:
        self.sides = sides

    def __call__(self, *arguments) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None: ...
    def refresh(self, seed: str) -> None: ...
    def check(self, name: str) -> None: ...

    def run(self, name: str, what) -> Timing:
        return what(self.sides[name])


def looks_at(monkeypatch: pytest.MonkeyPatch, mine: list[float]) -> tuple[str, int]:
    """What is said in the end when the submission's batches take so long, look by look; and how many looks
    were taken."""
    taken = []

    def batches() -> Iterator[float]:
        for seconds in mine:
            taken.append(seconds)
            yield from [seconds] * 5

    sides = {BASELINE: Side(iter([EVENT] * 100)), "submission": Side(batches())}
    monkeypatch.setattr(interleaved, "TimedComparison", FakeComparison(sides))
    samples = {name: Samples() for name in SIDES}

    def doubted() -> str:
        return fits_clock(samples[BASELINE], samples["submission"])

    unused: Any = None  # the comparison above asks nothing of task and sides
    take = functools.partial(
        interleaved.time_interleaved, unused, Case("a case", {}), "cold", dict.fromkeys(SIDES, unused)
    )
    take(samples, "seed", turns=3, deadline=float("inf"), outside=SIDES, doubted=doubted)
    assert all(len(side.batches) == 5 for side in samples.values())
    return doubted(), len(taken)


def test_a_clock_that_agrees_is_read_once(monkeypatch):
    assert looks_at(monkeypatch, [EVENT]) == ("", 1)


def test_a_disturbed_clock_reading_is_repeated(monkeypatch):
    assert looks_at(monkeypatch, [2 * EVENT, EVENT]) == ("", 2)


def test_a_clock_that_never_agrees_is_rejected(monkeypatch):
    words, looks = looks_at(monkeypatch, [2 * EVENT] * 3)
    assert "but the grader's clock measured -100.0 us" in words
    assert looks == 3


def looks_at_tails(monkeypatch: pytest.MonkeyPatch, mine: list[float]) -> tuple[str, int]:
    """The same when the device works on for so long after the submission's calls, look by look."""
    taken = []

    def tails() -> Iterator[float]:
        for seconds in mine:
            taken.append(seconds)
            yield from [seconds] * 5  # three turns, and two before them that nobody counts

    sides = {BASELINE: Side(iter(())), "submission": Side(iter(()), tails())}
    monkeypatch.setattr(interleaved, "TimedComparison", FakeComparison(sides))
    samples = {name: Samples() for name in SIDES}

    def lingers() -> str:
        return works_on(samples[BASELINE], samples["submission"])

    unused: Any = None
    interleaved.time_interleaved(
        unused,
        Case("a case", {}),
        "cold",
        dict.fromkeys(SIDES, unused),
        samples,
        "seed",
        turns=3,
        deadline=float("inf"),
        lingers=lingers,
    )
    assert len(samples["submission"].events) == 3 * len(taken)
    return lingers(), len(taken)


def test_a_disturbed_tail_is_measured_again(monkeypatch):
    assert looks_at_tails(monkeypatch, [0.0]) == ("", 1)
    assert looks_at_tails(monkeypatch, [50e-6, 0.0]) == ("", 2)


def test_a_tail_that_is_always_there_is_reported(monkeypatch):
    words, looks = looks_at_tails(monkeypatch, [50e-6] * 3)
    assert "is busy for 50.0 us" in words
    assert looks == 3
