"""Conditions of acceptance, each with a threshold from the exercise."""

from __future__ import annotations

from dataclasses import dataclass

from grader.gate.measured import Look, Measured, Times
from grader.gate.spec import MET, MISSED, NOT_ATTAINABLE, NOT_MEASURED, Finding
from grader.timing.statistics import Interval, hedges_g, mann_whitney_p, median_interval
from grader.words import numbers

_NO_SPREAD = "modelled times do not vary, so there is no spread"


def _decided(holds: bool, seen: str, otherwise: str) -> Finding:
    return Finding(MET, seen) if holds else Finding(MISSED, seen, otherwise)


def _unmeasured(why: str, seen: str = "–") -> Finding:
    return Finding(NOT_MEASURED, seen, why)


@dataclass(frozen=True)
class TimeSaved:
    """The median call takes at least this fraction less."""

    least: float
    name: str = "time saved"
    needed: bool = True

    @property
    def wanted(self) -> str:
        return f"≥ {self.least:.0%}"

    def judge(self, measured: Measured) -> Finding:
        times = measured.times
        if times.lack:
            return _unmeasured(times.lack)
        theirs, mine = times.their_median, times.my_median
        saved = 1 - mine / theirs
        how = ", modelled" if times.modelled else ""
        seen = f"{saved:.1%} ({numbers.seconds(theirs)} to {numbers.seconds(mine)}{how})"
        return _decided(saved >= self.least, seen, f"{self.least:.0%} less time was required")


@dataclass(frozen=True)
class IntervalsApart:
    """The 95 % bootstrap interval of its median is below that of the other."""

    name: str = "95 % intervals of the medians"
    wanted: str = "apart"
    needed: bool = False

    def judge(self, measured: Measured) -> Finding:
        if found := _without_samples(measured.times):
            return found
        theirs, mine = median_interval(measured.times.theirs), median_interval(measured.times.mine)
        seen = f"{_span(theirs)} and {_span(mine)}"
        return _decided(mine.high < theirs.low, seen, "the second is not below the first")


@dataclass(frozen=True)
class EffectSize:
    """Hedges' g: the difference of the means in standard deviations."""

    least: float
    name: str = "Hedges' g"
    needed: bool = False

    @property
    def wanted(self) -> str:
        return f"≥ {self.least:g}"

    def judge(self, measured: Measured) -> Finding:
        if found := _without_samples(measured.times):
            return found
        g = hedges_g(measured.times.theirs, measured.times.mine)
        return _decided(g >= self.least, f"{g:.1f}", "the times spread too much")


@dataclass(frozen=True)
class OneDistribution:
    """The Mann-Whitney p that both samples come from one distribution."""

    at_most: float
    name: str = "Mann-Whitney p"
    needed: bool = False

    @property
    def wanted(self) -> str:
        return f"≤ {self.at_most:g}"

    def judge(self, measured: Measured) -> Finding:
        if found := _without_samples(measured.times):
            return found
        p = mann_whitney_p(measured.times.theirs, measured.times.mine)
        return _decided(p <= self.at_most, f"{p:.2g}", "both may have the same speed")


def _without_samples(times: Times) -> Finding | None:
    if times.lack:
        return _unmeasured(times.lack)
    return _unmeasured(_NO_SPREAD) if times.modelled else None


def _span(interval: Interval) -> str:
    return f"{numbers.seconds(interval.low)}–{numbers.seconds(interval.high)}"


@dataclass(frozen=True)
class CounterGained:
    """A counter in percent that must change by `points` percentage points, up if positive, down if negative.
    If the other kernel's figure leaves no room for that, it is enough not to lose as many."""

    counter: str
    points: float
    name: str
    needed: bool = False

    @property
    def wanted(self) -> str:
        return f"{self.points:+g} points"

    def judge(self, measured: Measured) -> Finding:
        counters = measured.counters
        if self.counter not in counters.theirs or self.counter not in counters.mine:
            return _unmeasured(counters.lack or "it was not counted")
        theirs, mine = counters.theirs[self.counter], counters.mine[self.counter]
        seen = f"{mine - theirs:+.1f} points ({theirs:.1f} % to {mine:.1f} %)"
        gained = (mine - theirs) / self.points
        if -1 < gained < 1 and not 0 <= theirs + self.points <= 100:
            why = f"{theirs:.1f} % leaves no room for {self.points:+g} points"
            return Finding(NOT_ATTAINABLE, seen, why)
        return _decided(gained >= 1, seen, f"{self.points:+g} points were required")


@dataclass(frozen=True)
class Clean:
    """All of these tools ran, and none found anything."""

    tools: tuple[str, ...]
    name: str
    needed: bool = False
    wanted: str = "clean"

    def judge(self, measured: Measured) -> Finding:
        looks = [look for look in measured.looks if look.tool in self.tools]
        seen = "; ".join(_described(look) for look in looks if not look.lack) or "–"
        if found := [finding for look in looks for finding in look.findings]:
            return Finding(MISSED, seen, "; ".join(found))
        lacks = dict.fromkeys(look.lack for look in looks if look.lack)
        if lacks or not looks:
            return _unmeasured("; ".join(lacks) or "no tool ran", seen)
        return Finding(MET, seen)


def _described(look: Look) -> str:
    found = numbers.counted(len(look.findings), "finding") if look.findings else "nothing"
    return f"{look.tool}: {found} in {numbers.counted(look.calls, 'call')}"


@dataclass(frozen=True)
class ErrorAtMost:
    """The norm of the error over the norm of the row, in every row of every case."""

    most: float
    name: str = "relative error of a row"
    needed: bool = True

    @property
    def wanted(self) -> str:
        return f"≤ {self.most:g}"

    def judge(self, measured: Measured) -> Finding:
        if not measured.errors:
            return _unmeasured("no case was run")
        cases = numbers.counted(len(measured.errors), "case")
        if failed := [one for one in measured.errors if one.problem]:
            seen = f"{len(failed)} of {cases} failed"
            return Finding(MISSED, seen, f"{failed[0].case}: {failed[0].problem}")
        worst = max(measured.errors, key=lambda one: one.error)
        seen = f"{worst.error:.2g} at most, in {cases}"
        return _decided(worst.error <= self.most, seen, f"at {worst.case}")


@dataclass(frozen=True)
class SharedMemoryAtMost:
    bytes: int
    name: str = "shared memory of a block"
    needed: bool = True

    @property
    def wanted(self) -> str:
        return f"≤ {numbers.size(self.bytes)}"

    def judge(self, measured: Measured) -> Finding:
        taken = measured.taken
        if taken.lack:
            return _unmeasured(taken.lack)
        seen = numbers.size(taken.shared)
        return _decided(taken.shared <= self.bytes, seen, f"{self.bytes:,} bytes are allowed")


@dataclass(frozen=True)
class RegistersAtMost:
    most: int
    name: str = "registers of a thread"
    needed: bool = True

    @property
    def wanted(self) -> str:
        return f"≤ {self.most}"

    def judge(self, measured: Measured) -> Finding:
        taken = measured.taken
        if taken.lack:
            return _unmeasured(taken.lack)
        return _decided(taken.registers <= self.most, str(taken.registers), f"{self.most} are allowed")


@dataclass(frozen=True)
class NothingSpilled:
    name: str = "spilled registers"
    wanted: str = "none"
    needed: bool = True

    def judge(self, measured: Measured) -> Finding:
        taken = measured.taken
        if taken.lack:
            return _unmeasured(taken.lack)
        seen = numbers.size(taken.spilled) if taken.spilled else "none"
        return _decided(not taken.spilled, seen, "registers are spilled to memory")
