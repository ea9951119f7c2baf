"""Intervals cover the truth, ratios cancel drift, and different samples are detected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.timing.statistics import (
    geometric_mean_interval,
    hedges_g,
    mann_whitney_p,
    median_interval,
    ratio_interval,
)


def sample(mean: float, seed: int, n: int = 64, spread: float = 0.05) -> list[float]:
    return list(np.random.default_rng(seed).normal(mean, mean * spread, n))


def test_an_interval_covers_the_median_nearly_always():
    covered = sum(
        interval.low <= 10 <= interval.high
        for interval in (median_interval(sample(10, s)) for s in range(60))
    )
    assert covered >= 54


def test_pairs_cancel_a_clock_that_drifts():
    drift = np.linspace(1, 3, 64)
    ratio = ratio_interval(list(20 * drift), list(10 * drift))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_a_geometric_mean_is_over_the_cases():
    pairs = [(sample(20, 1), sample(10, 2)), (sample(8, 3), sample(1, 4))]
    mean = geometric_mean_interval(pairs)
    assert mean.value == pytest.approx(4, rel=0.05)
    assert mean.low < mean.value < mean.high


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=30))
def test_an_interval_contains_its_value_and_repeats_itself(data):
    interval = median_interval(data)
    assert min(data) <= interval.low <= interval.high <= max(data)
    assert median_interval(data) == interval


def test_hedges_g_counts_in_standard_deviations():
    a, b = np.random.default_rng(0).normal(1, 1, 4000), np.random.default_rng(1).normal(0, 1, 4000)
    assert hedges_g(list(a), list(b)) == pytest.approx(1, abs=0.05)
    assert hedges_g([1, 1], [1, 1]) == 0


def test_mann_whitney_detects_different_samples():
    assert mann_whitney_p(sample(10, 1), sample(12, 2)) < 1e-6
    assert mann_whitney_p(sample(10, 1), sample(10, 2)) > 0.01
    assert mann_whitney_p([1, 1, 1], [1, 1, 1]) == 1.0
    # A textbook example without ties: U = 3 of 25, two-sided p about 0.06.
    assert mann_whitney_p([19, 22, 16, 29, 24], [20, 11, 17, 12, 9]) == pytest.approx(0.06, abs=0.02)
