"""Times from a worker count only if they are plausible for the device and agree with this process's clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

_FASTER_THAN_COPY = 1.25  # only the bytes read are counted, so no real kernel comes near
_CLOCK_SHARE = 0.35  # of the time that events claim to save must be seen by the outer clock
_LEAST_TAIL = 2e-6
_CLOCK_NOISE = 20e-6  # seconds per call: real kernels on an H200 differed by up to 18 us


@dataclass
class Samples:
    """Times of one side in one case: by events, from the last event until the device was idle, and by the
    parent's clock.

    Each is the time of `calls` calls together.
    """

    events: list[float] = field(default_factory=list)
    tails: list[float] = field(default_factory=list)  # of the latest round
    # Batches of calls: seconds per call by the parent's clock, and the median of their events.
    batches: list[tuple[float, float]] = field(default_factory=list)
    clocks: str = ""
    calls: int = 1

    @property
    def per_call(self) -> list[float]:
        """Seconds per call, by events."""
        return [seconds / self.calls for seconds in self.events]

    def keep(self, count: int) -> None:
        """Keep the first `count` samples."""
        del self.events[count:]


@dataclass(frozen=True)
class DeviceLimits:
    """Measured just now: a copy, in bytes per second, and as many empty kernels, in seconds."""

    copy_bandwidth: float
    empty_seconds: float


def fits_device(size: int, mine: Samples, device: DeviceLimits) -> str:
    """A sentence when no kernel that moves `size` bytes could be that fast."""
    if not mine.events:
        return ""
    claimed = _median(mine.events)
    floor = max(0.9 * device.empty_seconds, size / 2 / (device.copy_bandwidth * _FASTER_THAN_COPY))
    if claimed < floor:
        return f"{claimed * 1e6:.2f} us are less than the device needs ({floor * 1e6:.2f} us): implausible"
    return ""


def works_on(base: Samples, mine: Samples) -> str:
    """A sentence when the device is idle later after a call of `mine` than after one of `base`.

    How soon the host learns that the device is idle varies, most of all after a short kernel: only what
    exceeds the baseline's own spread counts.
    """
    if not mine.tails:
        return ""
    tail = _median(mine.tails) - _median(base.tails)
    spread = float(np.subtract(*np.percentile(base.tails, [75, 25])))
    if tail <= max(_LEAST_TAIL, spread, 0.2 * _median(mine.events)):
        return ""
    return (
        f"the device is busy for {tail * 1e6:.1f} us after the call's stream is done: join every stream "
        "to the given one"
    )


def fits_clock(base: Samples, mine: Samples) -> str:
    """A sentence when the events claim to save time that the parent's clock did not see.

    Both clocks timed the same batches of calls, interleaved with the baseline's.
    """
    claimed = _median(event for _, event in base.batches) - _median(event for _, event in mine.batches)
    seen = np.array([theirs[0] - ours[0] for theirs, ours in zip(base.batches, mine.batches, strict=True)])
    noise = max(float(np.ptp(seen)), _CLOCK_NOISE)
    if claimed - float(np.median(seen)) <= noise + (1 - _CLOCK_SHARE) * abs(claimed):
        return ""
    return (
        f"events claim to save {claimed * 1e6:.1f} us per call, but the grader's clock measured "
        f"{float(np.median(seen)) * 1e6:.1f} us (give or take {noise * 1e6:.1f}): implausible"
    )


def fits_clock_alone(mine: Samples) -> str:
    """The same for a side that was timed alone: a sentence when the parent's clock measured far more time
    than the events."""
    reported, seen = _median(event for _, event in mine.batches), [clock for clock, _ in mine.batches]
    noise = max(float(np.ptp(seen)), _CLOCK_NOISE)
    if reported >= (float(np.median(seen)) - noise) * _CLOCK_SHARE:
        return ""
    return (
        f"events report {reported * 1e6:.1f} us per call, but the grader's clock measured "
        f"{float(np.median(seen)) * 1e6:.1f} us (give or take {noise * 1e6:.1f}): implausible"
    )


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))
