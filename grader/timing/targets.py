"""Decides targets from measured or modelled ratios, and gives each a share of the points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from grader.records.record import SpeedCase, TargetResult
from grader.spec import BASELINE, CopyBandwidth, HostTime, Speedup, Target
from grader.timing.statistics import Interval, geometric_mean_interval

_RESOLUTION = 0.01  # of a measured ratio: two workers with one and the same kernel came to 0.991 to 1.000
_AT_PASSING = 0.5  # the share of the points that the pass mark earns; full marks earn the rest


def partial(value: float, passing: float, full: float) -> float:
    """Nothing below the pass mark, everything from full marks on, interpolated between them."""
    if value < passing:
        return 0.0
    if value >= full or full <= passing:
        return 1.0
    return _AT_PASSING + (1 - _AT_PASSING) * (value - passing) / (full - passing)


def describe(target: Target) -> str:
    if isinstance(target, CopyBandwidth):
        return (
            f"bandwidth of {target.step} at {target.case}" if target.step else f"bandwidth at {target.case}"
        )
    cases = f"{len(target.cases)} case{'' if len(target.cases) == 1 else 's'}"
    if isinstance(target, HostTime):
        return f"host time against {target.against}, {cases}"
    of = f"the slowest of {cases}" if target.each else cases
    return f"speedup over {_rival(target)}, {of}{', in a graph' if target.protocol == 'graph' else ''}"


def _rival(target: Speedup) -> str:
    return "the baseline" if target.against == BASELINE else target.against


def decide_measured(target: Speedup, cases: Mapping[str, SpeedCase]) -> TargetResult:
    """By interval: met when its low end reaches the pass mark, missed when its high end does not."""
    wanted = [cases[name] for name in target.cases]
    worst = min(wanted, key=lambda case: case.ratio)
    if target.each:  # the least of several ratios may be low by chance
        mean = Interval(*(end / (1 - _RESOLUTION) for end in (worst.ratio, worst.low, worst.high)))
    else:
        mean = geometric_mean_interval([(case.baseline_samples, case.samples) for case in wanted])
    result = _result(describe(target), target, mean)
    if any(case.high < target.least_each * (1 - _RESOLUTION) for case in wanted):
        result.decision, result.earned = "missed", 0.0
        least = f"where no case may be under {target.least_each:g}x"
        result.message = f"{_too_slow(target, worst)}: {worst.ratio:.2f}x {least}"
        return result
    result.decision = (
        "met" if mean.low >= target.passing else "missed" if mean.high < target.passing else "undecided"
    )
    result.earned = partial(mean.value, target.passing, target.full)
    result.message = f"{mean.value:.2f}x ({mean.low:.2f} to {mean.high:.2f}), {_marks(target)}"
    if result.decision == "undecided":
        favour = "for" if mean.value >= target.passing else "against"
        result.message += f"; the interval spans the pass mark, so the estimate decides, {favour} the kernel"
    return result


def decide_modelled(
    target: Speedup, cases: Mapping[str, SpeedCase], margin: float, lacks: Sequence[str]
) -> TargetResult:
    """Met or missed only beyond the model's margin; within it, the kernel's structure decides."""
    ratios = [cases[name].ratio for name in target.cases]
    value = min(ratios) if target.each else math.exp(sum(map(math.log, ratios)) / len(ratios))
    result = _result(describe(target), target, Interval(value, value / margin, value * margin))
    worst = min((cases[name] for name in target.cases), key=lambda case: case.ratio)
    said = f"modelled {value:.2f}x, margin x{margin:.2f}, {_marks(target)}"
    if worst.ratio * margin < target.least_each:
        result.decision, result.earned = "missed", 0.0
        result.message = f"{said}; modelled, {_too_slow(target, worst)}: {worst.ratio:.2f}x"
    elif value * margin < target.passing:
        result.decision, result.earned, result.message = "missed", 0.0, said
    elif lacks:
        result.decision, result.earned = "undecided", 0.0
        result.message = (
            f"{said}; within the model's error of the target, so the kernel's structure "
            f"decides: {lacks[0]}. No points"
        )
    else:
        result.decision = "met" if value / margin >= target.passing else "undecided"
        result.earned = partial(value * margin, target.passing, target.full)
        result.message = said + (
            "; within the model's error of the target, so the kernel's structure decides: it is as asked"
            if result.decision == "undecided"
            else ""
        )
    return result


def decide_bandwidth(target: CopyBandwidth, case: SpeedCase, copy_bandwidth: float) -> TargetResult:
    """The kernel's bandwidth as a fraction of a plain copy's on the same device."""
    fractions = [case.bytes / seconds / copy_bandwidth for seconds in case.samples]
    fractions.sort()
    value = fractions[len(fractions) // 2]
    low, high = (fractions[int(q * (len(fractions) - 1))] for q in (0.025, 0.975))
    met = value >= target.fraction
    return TargetResult(
        name=describe(target),
        decision="met" if met else "missed",
        earned=1.0 if met else 0.0,
        share=target.share,
        value=value,
        low=low,
        high=high,
        passing=target.fraction,
        full=target.fraction,
        message=f"{value:.1%} of the copy bandwidth ({copy_bandwidth / 1e12:.2f} TB/s), "
        f"expected {target.fraction:.0%}",
    )


def missed_bandwidth(target: CopyBandwidth, why: str) -> TargetResult:
    """The result for a target that could not be timed, or was wrong while timed."""
    return TargetResult(
        name=describe(target),
        decision="missed",
        earned=0.0,
        share=target.share,
        value=0.0,
        low=0.0,
        high=0.0,
        passing=target.fraction,
        full=target.fraction,
        message=why,
    )


def decide_host(target: HostTime, cases: Mapping[str, SpeedCase]) -> TargetResult:
    """Earns the share of cases in which the call returns as soon as the alternative's."""
    wanted = [cases[name] for name in target.cases]
    most = target.at_most / (1 - _RESOLUTION)
    slow = [case for case in wanted if case.seconds > most * case.baseline_seconds]
    worst = min(wanted, key=lambda case: case.ratio)
    return TargetResult(
        name=describe(target),
        decision="missed" if slow else "met",
        earned=1 - len(slow) / len(wanted),
        share=target.share,
        value=worst.ratio,
        low=worst.low,
        high=worst.high,
        passing=1 / target.at_most,
        full=1 / target.at_most,
        message=f"{worst.name} takes {worst.seconds * 1e6:.1f} us of the host's time per call, "
        f"{target.against} {worst.baseline_seconds * 1e6:.1f} us; expected at most {target.at_most:g} times "
        "that in every case",
    )


def _too_slow(target: Speedup, worst: SpeedCase) -> str:
    how = "slower than" if worst.ratio < 1 else "not fast enough against"
    return f"{worst.name} is {how} {_rival(target)}"


def _marks(target: Speedup) -> str:
    return f"pass at {target.passing:g}x, full marks at {target.full:g}x"


def _result(name: str, target: Speedup, value: Interval) -> TargetResult:
    return TargetResult(
        name=name,
        decision="undecided",
        earned=0.0,
        share=target.share,
        value=value.value,
        low=value.low,
        high=value.high,
        passing=target.passing,
        full=target.full,
    )
