"""The tables of docs/cost-model.md, made from the committed predictions and measurements."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import DATA
from benchmarks.model.compare import UNSEEN_PART, Pair, Summary, pairs, parts, summary
from benchmarks.output.markdown import table
from common.core.paths import REPOSITORY
from grader.spec import registry
from grader.timing.modelled.margin import errors_of, model_margin, times_of

FOLDER = DATA / "model"
PAGE = REPOSITORY / "docs" / "cost-model.md"
_MARKED = re.compile(r"(<!-- modelled: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def remade(page: str) -> str:
    """The page with everything between its marks made anew."""
    predicted, measured = read("predicted_h200.json"), read("measured_h200.json")
    return _MARKED.sub(lambda mark: mark[1] + _MAKERS[mark[2]](predicted, measured) + mark[3], page)


def read(name: str) -> dict[str, Any]:
    """A committed file of figures."""
    figures: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return figures


def _headline(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """Order and ratios, by whether the cases were known when the model was made."""
    rows = []
    for name, part in parts(pairs(predicted, measured)).items():
        total = summary(part)
        cases = {case for pair in part for case in (pair.first, pair.second)}
        ordered = f"{total.ordered} of {total.apart} ({total.share_ordered:.1%})"
        errors = [f"{error:.1%}" for error in (total.median_error, total.p90_error)]
        rows.append([name, str(len(cases)), str(total.pairs), ordered, *errors])
    return table(["", "cases", "pairs", "order right, over 10 % apart", "ratio error: median", "p90"], rows)


def _families(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    found = pairs(predicted, measured)
    names = dict.fromkeys(pair.family for pair in found)
    rows = [_row(name, summary([pair for pair in found if pair.family == name])) for name in names]
    header = ["family", "pairs", "over 10 % apart", "order right", "ratio error: median", "p90", "worst"]
    return table(header, rows)


def _row(name: str, total: Summary) -> list[str]:
    counts = [str(total.pairs), str(total.apart), str(total.ordered)]
    errors = [f"{error:.0%}" for error in (total.median_error, total.p90_error, total.worst.error)]
    return [name, *counts, *errors]


def _disorders(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """Pairs over 10 % apart whose predicted order is wrong."""
    wrong = [pair for pair in pairs(predicted, measured) if pair.apart and not pair.ordered]
    rows = [[pair.first, pair.second, f"{pair.predicted:.2f}", f"{pair.measured:.2f}"] for pair in wrong]
    return table(["first", "second", "modelled second / first", "measured"], rows, right_from=2)


def _cases(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    taken = {case["name"]: case["microseconds"] for case in measured["cases"]}
    rows = [
        [
            case["name"],
            case["limiter"],
            f"{case['microseconds']:.1f}",
            f"{taken[case['name']]:.1f}",
            f"{case['microseconds'] / taken[case['name']] - 1:+.0%}",
        ]
        for case in predicted["cases"]
        if case["name"] in taken
    ]
    return table(["case", "limited by", "modelled µs", "measured µs", "error"], rows, right_from=2)


def _exercises(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """How far each exercise's own kernels are off, and the margin that follows, where they were measured."""
    rows = []
    for exercise in registry.all_exercises():
        errors = sorted(error - 1 for error in errors_of(exercise.id, "h200").values())
        if not errors:
            continue
        percent = [f"{statistics.median(errors):.0%}", f"{errors[int(0.9 * len(errors))]:.0%}"]
        rows.append(
            [exercise.id, exercise.protocol, str(len(errors)), *percent, f"{model_margin(exercise):.2f}"]
        )
    return table(
        ["exercise", "timed", "kernels × shapes", "error: median", "p90", "margin"], rows, right_from=2
    )


def _ratios(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """Pairs of an exercise's kernels at one shape: their order, and how far the ratios are off."""
    by_exercise = {exercise.id: _pairs_of(exercise.id) for exercise in registry.all_exercises()}
    every = [pair for found in by_exercise.values() for pair in found]
    unseen = parts(pairs(predicted, measured)).get(UNSEEN_PART, [])
    rows = []
    named = {**by_exercise, "all exercises": every, "all exercises and *unseen*": every + unseen}
    for name, found in named.items():
        if not found:
            continue
        total = summary(found)
        errors = [f"{error:.1%}" for error in (total.median_error, total.p90_error)]
        rows.append([name, str(total.pairs), f"{total.ordered} of {total.apart}", *errors])
    header = ["exercise", "pairs", "order right, over 10 % apart", "ratio error: median", "p90"]
    return table(header, rows)


def _pairs_of(exercise: str) -> list[Pair]:
    times = times_of(exercise, "h200")
    return [
        Pair(
            exercise,
            one[0],
            one[1],
            other[1],
            predicted=times[other][1] / times[one][1],
            measured=times[other][0] / times[one][0],
        )
        for one, other in itertools.combinations(times, 2)
        if one[0] == other[0]
    ]


def _source(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    return (
        f"Measured on {measured['gpu']}, driver {measured['driver']}, {measured['repeats']} calls per case.\n"
    )


_MAKERS: dict[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "headline": _headline,
    "exercises": _exercises,
    "ratios": _ratios,
    "families": _families,
    "disorders": _disorders,
    "cases": _cases,
    "source": _source,
}
