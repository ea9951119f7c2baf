"""The README's table of exercises, and what their reference solutions reached on the H200."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import DATA
from benchmarks.output.markdown import table
from grader.spec import Speedup, registry
from grader.timing.targets import describe

RECORDS = DATA / "records"
_OVER_BASELINE = "speedup over the baseline"


def exercise_results() -> str:
    """Each speedup over the baseline that the exercise asks for, and in brackets the one for full marks."""
    rows = []
    for exercise in registry.all_exercises():
        link = f"[{exercise.number}](exercises/{exercise.id}/README.md)"
        if (record := _record(exercise.id)) is None:
            rows.append([link, exercise.title, "not measured yet", f"– of {exercise.max_points:g}"])
            continue
        # What is asked may have risen since the record was made, which has the times of all cases.
        asked = [
            t for t in exercise.targets if isinstance(t, Speedup) and describe(t).startswith(_OVER_BASELINE)
        ]
        speed = ", ".join(f"{_reached(record, target):.2f}× ({target.full:.3g})" for target in asked)
        rows.append([link, exercise.title, speed, f"{record['points']:g} of {record['max_points']:g}"])
    return table(
        ["", "exercise", "over the baseline on an H200 (full marks at)", "points"], rows, right_from=3
    )


def _reached(record: dict[str, Any], target: Speedup) -> float:
    """The geometric mean of the target's cases; with `each`, the least of them."""
    ratios = [
        case["ratio"]
        for case in record["speed"]["cases"]
        if case["name"] in target.cases
        and (case["against"], case["protocol"]) == (target.against, target.protocol)
    ]
    return min(ratios) if target.each else statistics.geometric_mean(ratios)


def _record(exercise: str) -> dict[str, Any] | None:
    file = RECORDS / f"nvidia-h200-{exercise}-reference.json"
    return json.loads(file.read_text()) if file.exists() else None


MAKERS: dict[str, Callable[..., str]] = {"exercise_results": exercise_results}
