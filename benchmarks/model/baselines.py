"""The baselines' times as they were measured on a profile's card, in one table: by `./course bench` for 01 to
03, in the gradings of the references for 04 and 05, beside its steps for 06."""

from __future__ import annotations

import json
from typing import Any

from benchmarks import DATA
from common.core.errors import CourseError
from common.core.paths import MEASURED
from common.virtual_gpu.profiles import find_profile
from grader.records.device_info import GPU, DeviceInfo
from grader.spec import BASELINE, Exercise, registry
from grader.timing.modelled.baselines import fingerprint


def collect(profile: str) -> dict[str, Any]:
    card = DeviceInfo(GPU, find_profile(profile).name).file_stem
    path = MEASURED / f"{card}.json"
    if not path.is_file():
        raise CourseError(f"{path.name} does not exist: `./course bench` writes it on that card")
    benched = json.loads(path.read_text())
    return {
        "device": benched["device"],
        "driver": benched["driver"],
        "exercises": {
            exercise.id: {
                "protocol": exercise.protocol,
                "sha256": fingerprint(exercise.baseline),
                "cases": _benched(benched, exercise) or _graded(exercise, card),
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


def _graded(exercise: Exercise, card: str) -> dict[str, Any]:
    path = DATA / "records" / f"{card}-{exercise.id}-reference.json"
    if not path.is_file():
        return {}
    record = json.loads(path.read_text())
    return {
        case["name"]: {"sizes": case["sizes"], "seconds": case["baseline_seconds"]}
        for case in record["speed"]["cases"]
        if case["against"] == BASELINE and case["protocol"] == exercise.protocol
    }
