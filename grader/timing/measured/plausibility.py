"""Times that a worker reports are believed only if they fit the device, and a clock out of its reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

_FASTER_THAN_COPY = 1.25  # only the bytes read are counted, so nothing honest comes near
_CLOCK_SHARE = 0.35  # of what the events claim to save must be seen outside
_LEAST_TAIL = 2e-6
_CLOCK_NOISE = 20e-6  # seconds a call: honest kernels on an H200 were seen up to 18 us off


@dataclass
class Samples:
    """Times of one side in one case: by events, from there until the device was idle, and by the parent's
    own clock.

    Each is the time of `calls` calls together.
    """

    events: list[float] = field(default_factory=list)
    tails: list[float] = field(default_factory=list)  # of the latest look at them
    # Batches of calls: seconds a call by the parent's clock, and the median of their events.
    batches: list[tuple[float, float]] = field(default_factory=list)
    clocks: str = ""
    calls: int = 1

    @property
    def per_call(self) -> list[float]:
        """Seconds a call, by events."""
        return [seconds / self.calls for seconds in self.events]

    def keep(self, count: int) -> None:
        """Forget all samples after so many."""
        del self.events[count:]


@dataclass(frozen=True)
class DeviceLimits:
    """What this device did just now: a copy, in bytes a second, and as many empty kernels, in seconds."""

    copy_bandwidth: float
    empty_seconds: float


def fits_device(size: int, mine: Samples, device: DeviceLimits) -> str:
    """A sentence when no kernel that moves `size` bytes could be as fast."""
    if not mine.events:
        return ""
    claimed = _median(mine.events)
    floor = max(0.9 * device.empty_seconds, size / 2 / (device.copy_bandwidth * _FASTER_THAN_COPY))
    if claimed < floor:
        return (
            f"{claimed * 1e6:.2f} us are less than the device can need ({floor * 1e6:.2f} us): not believed"
        )
    return ""


def works_on(base: Samples, mine: Samples) -> str:
    """A sentence when the device is idle later after a call of `mine` than after one of `base`.

    How soon the host hears that a device is idle varies, most of all beside a short kernel: what counts is
    what stands out of the baseline's own spread.
    """
    if not mine.tails:
        return ""
    tail = _median(mine.tails) - _median(base.tails)
    spread = float(np.subtract(*np.percentile(base.tails, [75, 25])))
    if tail <= max(_LEAST_TAIL, spread, 0.2 * _median(mine.events)):
        return ""
    return (
        f"the device works on for {tail * 1e6:.1f} us after the call's stream is done: join every stream "
        "to the one that was given"
    )


def fits_clock(base: Samples, mine: Samples) -> str:
    """A sentence when the events claim to save time that the parent's clock did not see.

    Both clocks ran over the same batches of calls, in turns with the baseline's.
    """
    claimed = _median(event for _, event in base.batches) - _median(event for _, event in mine.batches)
    seen = np.array([theirs[0] - ours[0] for theirs, ours in zip(base.batches, mine.batches, strict=True)])
    noise = max(float(np.ptp(seen)), _CLOCK_NOISE)
    if claimed - float(np.median(seen)) <= noise + (1 - _CLOCK_SHARE) * abs(claimed):
        return ""
    return (
        f"events claim to save {claimed * 1e6:.1f} us a call, but the clock outside saw "
        f"{float(np.median(seen)) * 1e6:.1f} us (give or take {noise * 1e6:.1f}): not believed"
    )


def fits_clock_alone(mine: Samples) -> str:
    """The same for a side that nothing was timed beside: a sentence when the parent's clock saw far more
    time than the events tell of."""
    reported, seen = _median(event for _, event in mine.batches), [clock for clock, _ in mine.batches]
    noise = max(float(np.ptp(seen)), _CLOCK_NOISE)
    if reported >= (float(np.median(seen)) - noise) * _CLOCK_SHARE:
        return ""
    return (
        f"events tell of {reported * 1e6:.1f} us a call, but the clock outside saw "
        f"{float(np.median(seen)) * 1e6:.1f} us (give or take {noise * 1e6:.1f}): not believed"
    )


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))
