"""Compares predictions with measurements: the order of kernels that do the same work, and their ratios."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.model.programs import SEEN, UNSEEN, UNSEEN_EARLIER

UNSEEN_PART, EARLIER_PART, ALL_PARTS = "unseen", "unseen, earlier", "exercise 01 and unseen"
CLEARLY_APART = 1.10  # the order of pairs closer than this on the device does not count


@dataclass(frozen=True)
class Pair:
    """Two kernels of a family. Ratios are the second's time over the first's."""

    program: str
    family: str
    first: str
    second: str
    predicted: float
    measured: float

    @property
    def apart(self) -> bool:
        return max(self.measured, 1 / self.measured) > CLEARLY_APART

    @property
    def ordered(self) -> bool:
        return (self.predicted > 1) == (self.measured > 1)

    @property
    def error(self) -> float:
        """The error of the predicted ratio, up or down: 0.1 is ten per cent off."""
        off = self.predicted / self.measured
        return max(off, 1 / off) - 1


@dataclass(frozen=True)
class Summary:
    """How well a set of pairs was predicted."""

    pairs: int
    apart: int
    ordered: int
    median_error: float
    p90_error: float
    worst: Pair

    @property
    def share_ordered(self) -> float:
        return self.ordered / self.apart if self.apart else 1.0


def pairs(predicted: Mapping[str, Any], measured: Mapping[str, Any]) -> list[Pair]:
    """Every pair within a family for which both sides have a time."""
    expected = {case["name"]: case for case in predicted["cases"]}
    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in measured["cases"]:
        if case["name"] in expected:
            families[case["family"]].append(case)
    return [
        Pair(
            expected[one["name"]]["program"],
            family,
            one["name"],
            other["name"],
            predicted=expected[other["name"]]["microseconds"] / expected[one["name"]]["microseconds"],
            measured=other["microseconds"] / one["microseconds"],
        )
        for family, cases in families.items()
        for one, other in itertools.combinations(cases, 2)
    ]


def parts(found: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Both sets of unseen programs, the exercise, all three, and what was seen before; none without pairs."""
    unseen, earlier, exercise, seen = (
        [pair for pair in found if pair.program in programs]
        for programs in (UNSEEN, UNSEEN_EARLIER, ("exercise_01",), SEEN)
    )
    named = {
        UNSEEN_PART: unseen,
        EARLIER_PART: earlier,
        "exercise 01": exercise,
        ALL_PARTS: exercise + earlier + unseen,
        "seen before": seen,
    }
    return {name: part for name, part in named.items() if part}


def summary(found: Sequence[Pair]) -> Summary:
    errors = sorted(pair.error for pair in found)
    apart = [pair for pair in found if pair.apart]
    return Summary(
        pairs=len(found),
        apart=len(apart),
        ordered=sum(pair.ordered for pair in apart),
        median_error=statistics.median(errors),
        p90_error=errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        worst=max(found, key=lambda pair: pair.error),
    )


def time_errors(predicted: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, float]:
    """By case: predicted over measured, minus one."""
    taken = {case["name"]: case["microseconds"] for case in measured["cases"]}
    return {
        case["name"]: case["microseconds"] / taken[case["name"]] - 1
        for case in predicted["cases"]
        if case["name"] in taken
    }


def text(predicted: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """A table by family with the totals, the pairs in the wrong order, and the largest errors."""
    found = pairs(predicted, measured)
    if not found:
        return "no case has both a prediction and a measurement"
    lines = [f"{'family':24}{'pairs':>6}{'> 10 %':>8}{'ordered':>9}{'median':>9}{'p90':>8}{'worst':>8}"]
    for family in dict.fromkeys(pair.family for pair in found):
        lines.append(_row(family, summary([pair for pair in found if pair.family == family])))
    lines += [_row(name, summary(part)) for name, part in parts(found).items()]
    lines += ["", "wrong order:"]
    lines += [_pair_text(pair) for pair in found if pair.apart and not pair.ordered] or ["  none"]
    lines += ["", "largest errors of a ratio:"]
    lines += [_pair_text(pair) for pair in sorted(found, key=lambda pair: -pair.error)[:10]]
    off = sorted(time_errors(predicted, measured).items(), key=lambda item: -abs(item[1]))
    lines += ["", "largest errors of a time:"]
    lines += [f"  {name:44}{error:+8.0%}" for name, error in off[:10]]
    return "\n".join(lines)


def _row(name: str, total: Summary) -> str:
    ordered = f"{total.ordered}/{total.apart}"
    errors = f"{total.median_error:>9.1%}{total.p90_error:>8.0%}{total.worst.error:>8.0%}"
    return f"{name:24}{total.pairs:>6}{total.apart:>8}{ordered:>9}{errors}"


def _pair_text(pair: Pair) -> str:
    return f"  {pair.first} : {pair.second}  modelled {pair.predicted:.2f}, measured {pair.measured:.2f}"
