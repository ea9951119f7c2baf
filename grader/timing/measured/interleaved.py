"""Times the sides of a comparison interleaved, in random order, until there are enough samples."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping

from grader.devices.on_gpu.timed import InWorker
from grader.spec import Case, Task, TimingProtocol, seeds
from grader.timing.measured.comparison import Side, TimedComparison
from grader.timing.measured.plausibility import Samples

_WARM_UP = 2  # rounds that load modules and make contexts
_LEAST_TURNS = 11
_BATCHES, _TIMES_IN_A_BATCH = 5, 24  # for this process's clock
_LOOKS = 3  # attempts before an implausible time is rejected
_HOST_CALLS = 48  # in a row: fewer than a stream has room for
_HOST_TURNS = 9


def time_interleaved(
    task: Task,
    case: Case,
    protocol: TimingProtocol,
    sides: Mapping[str, Side],
    samples: Mapping[str, Samples],
    seed: str,
    *,
    turns: int,
    deadline: float,
    elsewhere: Mapping[str, Case] | None = None,
    judged: str = "",
    unchecked: Collection[str] = (),
    outside: Collection[str] = (),
    lingers: Callable[[], str] = lambda: "",
    doubted: Callable[[], str] = lambda: "",
) -> None:
    """Adds one sample per side and round; after the deadline, rounds stop at a minimum.

    Sides in `elsewhere` use other cases, those in `unchecked` leave no answer. While work `lingers` after a
    call there are more rounds. Sides in `outside` are also timed by this process's clock, many calls at a
    time, and again while the result is `doubted`. Raises what a comparison raises.
    """
    order = random.Random(seed)
    with TimedComparison(task, case, protocol, sides, judged, elsewhere) as comparison:
        for look in range(_LOOKS):
            for side in samples.values():
                side.tails.clear()
            for turn in range(turns + _WARM_UP):
                comparison.refresh(seeds.derive(seed, look, turn))
                for name in order.sample(list(sides), len(sides)):
                    timing = comparison.run(name, lambda side: side.time())
                    if name not in unchecked:
                        comparison.check(name)
                    if turn >= _WARM_UP:
                        samples[name].events.append(timing.seconds)
                        samples[name].tails.append(timing.settled - timing.seconds)
                        samples[name].calls = comparison.count
                if time.monotonic() > deadline and turn >= _LEAST_TURNS + _WARM_UP - 1:
                    break
            if not lingers():
                break
        for _ in range(_LOOKS if outside else 0):
            _look_outside(comparison, {name: samples[name] for name in outside})
            if not doubted():
                break


def _look_outside(comparison: TimedComparison, samples: Mapping[str, Samples]) -> None:
    """Other work on the machine disturbs this process's clock, so each attempt replaces the one before: a
    false clock in a worker is caught by the last attempt, too."""
    for side in samples.values():
        side.batches.clear()
    for _ in range(_BATCHES):
        for name, side in samples.items():
            timed = comparison.sides[name]
            assert isinstance(timed, InWorker)
            side.batches.append(timed.time_many(_TIMES_IN_A_BATCH) or (0.0, 0.0))


def time_host_interleaved(
    task: Task,
    case: Case,
    sides: Mapping[str, Side],
    seed: str,
    *,
    elsewhere: Mapping[str, Case] | None = None,
    judged: str = "",
    unchecked: Collection[str] = (),
) -> dict[str, list[float]]:
    """The host's seconds per call, by side. Calls are repeated on the same memory and must allow that."""
    order = random.Random(seed)
    samples: dict[str, list[float]] = {name: [] for name in sides}
    with TimedComparison(task, case, "cold", sides, judged, elsewhere) as comparison:
        for turn in range(_HOST_TURNS + _WARM_UP):
            comparison.refresh(seeds.derive(seed, turn))
            for name in order.sample(list(sides), len(sides)):
                seconds = comparison.run(name, lambda side: side.time_host(_HOST_CALLS))
                if name not in unchecked:
                    comparison.check(name)
                if turn >= _WARM_UP:
                    samples[name].append(seconds)
    return samples
