"""Statistics for timings: intervals of ratios, effect size, and whether two samples differ at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def median_interval(samples: Sequence[float], seed: int = 0) -> Interval:
    """The median with its interval."""
    data = np.asarray(samples, dtype=np.float64)
    medians = np.median(_resample(data, seed), axis=1)
    return _interval(float(np.median(data)), medians)


def ratio_interval(above: Sequence[float], below: Sequence[float], seed: int = 0) -> Interval:
    """The median of pairwise ratios above/below of interleaved samples, so that drift cancels."""
    ratios = np.asarray(above, dtype=np.float64) / np.asarray(below, dtype=np.float64)
    return median_interval(list(ratios), seed)


def geometric_mean_interval(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], seed: int = 0
) -> Interval:
    """The geometric mean over cases of the median pairwise ratio, each case resampled separately."""
    logs = [np.log(np.asarray(a, dtype=np.float64) / np.asarray(b, dtype=np.float64)) for a, b in pairs]
    value = float(np.exp(np.mean([np.median(case) for case in logs])))
    draws = np.mean([np.median(_resample(case, seed + i), axis=1) for i, case in enumerate(logs)], axis=0)
    return _interval(value, np.exp(draws))


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float:
    """The difference of means in pooled standard deviations, corrected for small samples."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    degrees = len(x) + len(y) - 2
    if degrees <= 0:
        return 0.0
    pooled = ((len(x) - 1) * x.var(ddof=1) + (len(y) - 1) * y.var(ddof=1)) / degrees
    if pooled == 0.0:
        return 0.0 if x.mean() == y.mean() else float(np.copysign(np.inf, x.mean() - y.mean()))
    return float((x.mean() - y.mean()) / np.sqrt(pooled) * (1 - 3 / (4 * degrees - 1)))


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p that both come from one distribution: normal approximation with ties and continuity."""
    from math import erfc, sqrt

    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n, m = len(x), len(y)
    if n == 0 or m == 0:
        return 1.0
    values = np.concatenate([x, y])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float(np.sum(counts.astype(np.float64) ** 3 - counts))
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / sqrt(variance)
    return float(erfc(z / sqrt(2)))


def _resample(data: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return data[rng.integers(0, len(data), size=(_RESAMPLES, len(data)))]


def _interval(value: float, draws: np.ndarray) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(value, float(low), float(high))
