"""The cost model's margin of error for an exercise, from its error on that exercise's own kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.core.paths import MEASURED
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.spec import BASELINE, Exercise

LEAST = 1.10  # the margin is never smaller, even if the error on the variants is
_QUANTILE = 0.95
_ENOUGH = 5
Place = tuple[str, str]  # a case and a kernel


def measured(profile: str) -> Path:
    """What `./course bench` measured on the card of a profile."""
    return MEASURED / f"{DeviceInfo(GPU, find_profile(profile).name).file_stem}.json"


def modelled(profile: str) -> Path:
    """What it modelled for the profile."""
    return MEASURED / f"{DeviceInfo(VIRTUAL, profile).file_stem}.json"


def compared(profile: str) -> Path:
    """Times of kernels that `./course bench` does not know, such as the steps of 05; from
    `python -m benchmarks.model attention`."""
    return MEASURED / f"compared-{profile}.json"


def was_compared(profile: str) -> bool:
    return measured(profile).is_file() and modelled(profile).is_file()


def model_margin(exercise: Exercise, profile: str = DEFAULT_PROFILE) -> float:
    """A factor, at least 1.10, that contained 19 of 20 modelled times of the exercise's own kernels: at the
    cases that are timed, or at all where too few kernels were measured there. For a card without
    measurements, the margin of the measured card."""
    known = profile if was_compared(profile) else DEFAULT_PROFILE
    return margin_of(list(timed_errors(exercise, known).values()))


def timed_errors(exercise: Exercise, profile: str) -> dict[Place, float]:
    every, timed = errors_of(exercise.id, profile), {case.name for case in exercise.modelled_cases}
    there = {place: error for place, error in every.items() if place[0] in timed}
    return there if len(there) >= _ENOUGH else every


def errors_of(exercise: str, profile: str) -> dict[Place, float]:
    """By case and kernel, the factor between the modelled and the measured time."""
    return {
        place: max(real / model, model / real) for place, (real, model) in times_of(exercise, profile).items()
    }


def times_of(exercise: str, profile: str) -> dict[Place, tuple[float, float]]:
    """By case and kernel, the measured and the modelled time, in seconds."""
    real, model = _times(exercise, measured(profile)), _times(exercise, modelled(profile))
    for row in _read(compared(profile)).get("exercises", {}).get(exercise, ()):
        place = row["case"], row["kernel"]
        real[place], model[place] = row["measured"], row["modelled"]
    return {place: (real[place], model[place]) for place in real if place in model}


def margin_of(errors: Sequence[float]) -> float:
    if not errors:
        return LEAST
    return max(LEAST, sorted(errors)[min(len(errors) - 1, int(_QUANTILE * len(errors)))])


def _times(exercise: str, path: Path) -> dict[Place, float]:
    """But not of kernels that overlap on several streams: the model takes one after the other."""
    shapes = _read(path).get("exercises", {}).get(exercise, {}).get("shapes", ())
    return {
        (shape["case"], kernel): result["seconds"]
        for shape in shapes
        for kernel, result in shape["results"].items()
        if kernel != BASELINE and result.get("seconds") and result.get("streams", 1) == 1
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return read
