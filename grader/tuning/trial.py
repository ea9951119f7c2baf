"""Times one configuration: a quick comparison with the best so far, and a longer one for those that pass it.

Both are timed interleaved, so that drift of the device's clock cancels. A configuration replaces the best
when it is 5 % faster, or faster at all with better counters. Modelled times do not vary: one sample of each
is enough.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from common.core.errors import CourseError
from grader.timing.statistics import Interval, median_interval, ratio_interval
from grader.tuning.builds import Built
from grader.tuning.counters import better
from grader.tuning.store import State

QUICK, CONFIRM = 40, 100  # samples
_STEP = 10  # samples between two checks whether to stop
WORTH = 1.05  # times as fast; below that, counters must be better, too
_WARM_UP = 3


class TrialFailed(Exception):
    """The configuration does not run, or its answer is wrong; the text describes it."""


class Contender(Protocol):
    """A configuration that runs and is right, and can be timed repeatedly."""

    def seconds(self) -> float:
        """Seconds of one call. Raises TrialFailed."""
        ...

    def counters(self) -> Mapping[str, float]:
        """Figures by name; none where nothing counts them."""
        ...

    def close(self) -> None: ...


class Bench(Protocol):
    """A device with a case's inputs on it."""

    modelled: bool

    def enter(self, built: Built) -> Contender:
        """Raises TrialFailed, also for a wrong answer."""
        ...


@dataclass(frozen=True)
class Verdict:
    """The measurements, and the resulting state."""

    state: State
    seconds: Interval
    samples: int
    ratio: float = 0.0
    reason: str = ""
    steps: Mapping[int, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)


Hopeless = Callable[[int, float], bool]


def judge(mine: Contender, best: Contender | None, hopeless: Hopeless, *, modelled: bool) -> Verdict:
    """`hopeless` gets the number of samples so far and their median. Raises TrialFailed."""
    quick = _Samples(mine, best, modelled=modelled)
    steps: dict[int, float] = {}
    for step in quick.steps(QUICK):
        steps[step] = statistics.median(quick.mine)
        if hopeless(step, steps[step]) and step < QUICK and not modelled:
            reason = f"slower than the median of others after {step} of {QUICK} samples"
            return Verdict("pruned", median_interval(quick.mine), step, quick.ratio.value, reason, steps)
    if best is None:
        reason = "the first that passes"
        counted = mine.counters()
        return Verdict("promoted", median_interval(quick.mine), len(quick.mine), 1.0, reason, steps, counted)
    claim = _Claim(mine, best)
    if not claim.promising(quick.ratio):
        reason = "no faster than the best" if quick.ratio.value <= 1 else "faster by too little"
        return _measured(quick, reason, steps, claim)
    confirmed = _Samples(mine, best, modelled=modelled)
    for _ in confirmed.steps(CONFIRM):
        pass
    ratio = confirmed.ratio
    if why := claim.worth(ratio):
        seconds = median_interval(confirmed.mine)
        return Verdict("promoted", seconds, len(confirmed.mine), ratio.value, why, steps, mine.counters())
    return _measured(confirmed, f"not confirmed with {CONFIRM} samples", steps, claim)


def _measured(samples: _Samples, reason: str, steps: Mapping[int, float], claim: _Claim) -> Verdict:
    seconds = median_interval(samples.mine)
    return Verdict(
        "measured", seconds, len(samples.mine), samples.ratio.value, reason, steps, claim.counted_already
    )


class _Claim:
    """The case for a promotion. Counters are read only where they decide: that may need a profiler."""

    def __init__(self, mine: Contender, best: Contender) -> None:
        self._mine, self._best = mine, best
        self.counted_already: Mapping[str, float] = {}
        self._better: bool | None = None

    def promising(self, ratio: Interval) -> bool:
        return ratio.value >= WORTH or bool(self.worth(ratio))

    def worth(self, ratio: Interval) -> str:
        """Why it should replace the best; empty when it should not."""
        if ratio.low <= 1:
            return ""
        if ratio.value >= WORTH:
            return f"{ratio.value:.2f} times as fast"
        return f"{ratio.value:.3f} times as fast, with better counters" if self._counts_better() else ""

    def _counts_better(self) -> bool:
        if self._better is None:
            self.counted_already = self._mine.counters()
            self._better = better(self.counted_already, self._best.counters())
        return self._better


class _Samples:
    """Seconds of a configuration and of the best one, taken in pairs of either order."""

    def __init__(self, mine: Contender, best: Contender | None, *, modelled: bool) -> None:
        self._sides = {"mine": mine, **({"best": best} if best is not None else {})}
        self._taken: dict[str, list[float]] = {name: [] for name in self._sides}
        self._modelled = modelled
        self._order = random.Random(0)

    @property
    def mine(self) -> list[float]:
        return self._taken["mine"]

    @property
    def ratio(self) -> Interval:
        """How many times as fast as the best: 1 while there is none."""
        return ratio_interval(self._taken.get("best", self.mine), self.mine)

    def steps(self, count: int) -> Iterator[int]:
        """Take `count` pairs, and yield their number after every few."""
        if self._modelled:
            self._take()
            yield count
            return
        for _ in range(_WARM_UP):
            self._take()
        for taken in self._taken.values():
            taken.clear()
        for number in range(1, count + 1):
            self._take()
            if number % _STEP == 0:
                yield number

    def _take(self) -> None:
        for name in self._order.sample(list(self._sides), len(self._sides)):
            try:
                self._taken[name].append(self._sides[name].seconds())
            except TrialFailed as problem:
                if name == "mine":
                    raise
                raise CourseError(f"the best configuration so far no longer runs: {problem}") from problem
