"""The quick gate, the pruner and the confirmation, with a clock that says what the test wants."""

from __future__ import annotations

import itertools
import random

import pytest

from common.core.errors import CourseError
from grader.tuning.counters import CONFLICTS, L2_HITS, L2_SECTORS, TENSOR, better
from grader.tuning.trial import CONFIRM, QUICK, TrialFailed, judge
from tests.grader.tuned_course import FakeContender

WARM_UP = 3


def never(step: int, seconds: float) -> bool:
    return False


def noisy(mean: float, seed: int = 1) -> FakeContender:
    """Within one per cent of the mean."""
    source = random.Random(seed)
    return FakeContender(lambda: mean * source.uniform(0.99, 1.01))


def test_the_first_is_promoted_after_the_quick_gate():
    mine = noisy(10e-6)
    verdict = judge(mine, None, never, modelled=False)
    assert verdict.state == "promoted"
    assert verdict.samples == QUICK
    assert mine.taken == QUICK + WARM_UP


def test_a_clearly_better_one_is_confirmed_with_more_samples_and_promoted():
    mine, best = noisy(8e-6), noisy(10e-6, seed=2)
    verdict = judge(mine, best, never, modelled=False)
    assert verdict.state == "promoted"
    assert verdict.samples == CONFIRM
    assert verdict.ratio == pytest.approx(1.25, rel=0.01)
    assert mine.taken == best.taken == QUICK + CONFIRM + 2 * WARM_UP
    assert list(verdict.steps) == [10, 20, 30, 40]


def test_two_per_cent_are_not_enough():
    verdict = judge(noisy(9.8e-6), noisy(10e-6, seed=2), never, modelled=False)
    assert verdict.state == "measured"
    assert verdict.samples == QUICK
    assert verdict.reason == "faster by too little"


def test_two_per_cent_with_better_counters_are_enough():
    mine, best = noisy(9.8e-6), noisy(10e-6, seed=2)
    mine.counted, best.counted = {L2_SECTORS: 900}, {L2_SECTORS: 1000}
    verdict = judge(mine, best, never, modelled=False)
    assert verdict.state == "promoted"
    assert verdict.samples == CONFIRM
    assert "better counters" in verdict.reason
    assert verdict.counters == {L2_SECTORS: 900}


def test_better_counters_do_not_help_what_is_slower():
    mine, best = noisy(10.2e-6), noisy(10e-6, seed=2)
    mine.counted, best.counted = {L2_SECTORS: 1}, {L2_SECTORS: 1000}
    verdict = judge(mine, best, never, modelled=False)
    assert verdict.state == "measured"
    assert mine.asked_to_count == 0, "a profiler's run takes longer than all the samples"


def test_what_the_quick_gate_liked_by_chance_is_not_confirmed():
    times = itertools.chain(itertools.repeat(8e-6, QUICK + WARM_UP), itertools.repeat(10e-6))
    verdict = judge(FakeContender(lambda: next(times)), noisy(10e-6), never, modelled=False)
    assert verdict.state == "measured"
    assert verdict.reason == f"not confirmed with {CONFIRM} samples"
    assert verdict.seconds.value == 10e-6


def test_a_hopeless_trial_is_stopped_early():
    mine = noisy(30e-6)
    verdict = judge(mine, noisy(10e-6, seed=2), lambda step, seconds: seconds > 20e-6, modelled=False)
    assert verdict.state == "pruned"
    assert verdict.samples == 10
    assert mine.taken == 10 + WARM_UP


def test_a_modelled_time_is_asked_for_once_and_never_pruned():
    mine, best = FakeContender(lambda: 8e-6), FakeContender(lambda: 10e-6)
    verdict = judge(mine, best, lambda step, seconds: True, modelled=True)
    assert verdict.state == "promoted"
    assert verdict.samples == 1
    assert verdict.ratio == pytest.approx(1.25)


def failing() -> float:
    raise TrialFailed("the worker died")


def test_only_a_failure_of_the_best_ends_the_search():
    with pytest.raises(TrialFailed, match="the worker died"):
        judge(FakeContender(failing), noisy(10e-6), never, modelled=False)
    with pytest.raises(CourseError, match="so far no longer runs: the worker died"):
        judge(noisy(10e-6), FakeContender(failing), never, modelled=False)


@pytest.mark.parametrize(
    ("mine", "theirs", "is_better"),
    [
        ({L2_SECTORS: 90}, {L2_SECTORS: 100}, True),
        ({L2_SECTORS: 99}, {L2_SECTORS: 100}, False),
        ({L2_HITS: 80}, {L2_HITS: 60}, True),
        ({L2_HITS: 60}, {L2_HITS: 80}, False),
        ({L2_SECTORS: 90, CONFLICTS: 10}, {L2_SECTORS: 100, CONFLICTS: 0}, False),
        ({L2_SECTORS: 90, CONFLICTS: 0}, {L2_SECTORS: 100, CONFLICTS: 0}, True),
        ({TENSOR: 90}, {TENSOR: 10}, False),
        ({}, {L2_SECTORS: 100}, False),
    ],
)
def test_counters_are_better_when_one_is_and_none_is_worse(mine, theirs, is_better):
    assert better(mine, theirs) is is_better
