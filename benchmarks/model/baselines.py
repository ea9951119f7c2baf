"""The baselines' times as they were measured on an H200, in one table: by `./course bench` for 01 to 03, in
the gradings of the references for 04 and 05."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import DATA
from common.core.paths import MEASURED
from grader.spec import BASELINE, Exercise, registry
from grader.timing.modelled.baselines import fingerprint


def collect() -> dict[str, Any]:
    benched = json.loads((MEASURED / "nvidia-h200.json").read_text())
    return {
        "device": benched["device"],
        "driver": benched["driver"],
        "exercises": {
            exercise.id: {
                "protocol": exercise.protocol,
                "sha256": fingerprint(exercise.baseline),
                "cases": _benched(benched, exercise) or _graded(exercise),
            }
            for exercise in registry.all_exercises()
        },
    }


def _benched(benched: dict[str, Any], exercise: Exercise) -> dict[str, Any]:
    shapes = benched["exercises"].get(exercise.id, {}).get("shapes", ())
    return {
        shape["case"]: {"sizes": shape["sizes"], "seconds": shape["results"][BASELINE]["seconds"]}
        for shape in shapes
    }


def _graded(exercise: Exercise) -> dict[str, Any]:
    record = json.loads((DATA / "records" / f"nvidia-h200-{exercise.id}-reference.json").read_text())
    return {
        case["name"]: {"sizes": case["sizes"], "seconds": case["baseline_seconds"]}
        for case in record["speed"]["cases"]
        if case["against"] == BASELINE and case["protocol"] == exercise.protocol
    }
