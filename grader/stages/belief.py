"""Times that a worker reports are believed only if they fit the device, and a clock out of its reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

_FASTER_THAN_COPY = 1.25  # only the bytes read are counted, so nothing honest comes near
_CLOCK_SHARE = 0.35  # of what the events claim to save must be seen outside
_LEAST_TAIL = 2e-6


@dataclass
class Samples:
    """Times of one side in one case: by events, until the device was idle, and by the parent's clock."""

    events: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    host: list[float] = field(default_factory=list)
    clocks: str = ""

    def drop(self, count: int) -> None:
        """Forget the latest samples."""
        for times in (self.events, self.settled, self.host):
            del times[-count:]


@dataclass(frozen=True)
class Device:
    """What this device did just now: a plain copy, in bytes a second, and an empty kernel, in seconds."""

    copy_bandwidth: float
    empty_seconds: float


def fits_device(size: int, base: Samples, mine: Samples, device: Device) -> str:
    """A sentence when no kernel could be as fast, or when work goes on after the call's stream is done."""
    if not mine.events:
        return ""
    claimed = float(np.median(mine.events))
    floor = max(0.9 * device.empty_seconds, size / 2 / (device.copy_bandwidth * _FASTER_THAN_COPY))
    if claimed < floor:
        return (
            f"{claimed * 1e6:.2f} us are less than the device can need ({floor * 1e6:.2f} us): not believed"
        )
    tail = _tail(mine) - _tail(base)
    if tail > max(_LEAST_TAIL, 0.2 * claimed):
        return (
            f"the device works on for {tail * 1e6:.1f} us after the call's stream is done: join every stream "
            "to the one that was given"
        )
    return ""


def fits_clock(pairs: Iterable[tuple[Samples, Samples]]) -> str:
    """A sentence when the events of all cases claim to save time that the parent's clock did not see."""
    saved = seen = variance = 0.0
    calls = 0
    for base, mine in pairs:
        if not mine.events:
            continue
        saved += sum(base.events) - sum(mine.events)
        # Medians: the scheduler's pauses are not the kernel's.
        seen += (float(np.median(base.host)) - float(np.median(mine.host))) * len(mine.host)
        variance += sum((_median_error(side.host) * len(side.host)) ** 2 for side in (base, mine))
        calls += len(mine.events)
    noise = 2 * variance**0.5
    if saved > 0 and seen + noise < saved * _CLOCK_SHARE:
        return (
            f"events claim to save {saved * 1e6:.0f} us over {calls} calls, but the clock outside saw "
            f"{seen * 1e6:.0f} us (noise {noise * 1e6:.0f} us): not believed"
        )
    return ""


def _tail(samples: Samples) -> float:
    return float(np.median(np.asarray(samples.settled) - np.asarray(samples.events)))


def _median_error(times: Sequence[float]) -> float:
    """The standard error of the median, from the middle half of the samples."""
    low, high = np.percentile(times, [25, 75])
    return float(1.25 * (high - low) / 1.35 / len(times) ** 0.5)
