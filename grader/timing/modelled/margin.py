"""The cost model's margin of error for an exercise, from its error on that exercise's own kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from common.core.paths import MEASURED
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.spec import Exercise

LEAST = 1.10  # the margin is never smaller, even if the error on the variants is
_QUANTILE = 0.9


def measured(profile: str) -> Path:
    """What `./course bench` measured on the card of a profile."""
    return MEASURED / f"{DeviceInfo(GPU, find_profile(profile).name).file_stem}.json"


def modelled(profile: str) -> Path:
    """What it modelled for the profile."""
    return MEASURED / f"{DeviceInfo(VIRTUAL, profile).file_stem}.json"


def was_compared(profile: str) -> bool:
    return measured(profile).is_file() and modelled(profile).is_file()


def model_margin(exercise: Exercise, profile: str = DEFAULT_PROFILE) -> float:
    """A factor, at least 1.10, that contained nine in ten modelled ratios of the exercise's own kernels. For
    a card without measurements, the margin of the measured card."""
    known = profile if was_compared(profile) else DEFAULT_PROFILE
    return margin_of(ratio_errors(exercise.id, measured(known), modelled(known)))


def margin_of(errors: Sequence[float]) -> float:
    if not errors:
        return LEAST
    return max(LEAST, sorted(errors)[min(len(errors) - 1, int(_QUANTILE * len(errors)))])


def ratio_errors(exercise: str, measured: Path, modelled: Path) -> list[float]:
    """max(modelled/measured, measured/modelled) of the ratio over the baseline, by kernel and shape."""
    real, model = _ratios(exercise, measured), _ratios(exercise, modelled)
    return [max(real[key] / model[key], model[key] / real[key]) for key in real.keys() & model.keys()]


def _ratios(exercise: str, path: Path) -> dict[tuple[str, str], float]:
    try:
        shapes = json.loads(path.read_text())["exercises"][exercise]["shapes"]
    except (OSError, KeyError, ValueError):
        return {}
    return {
        (shape["case"], kernel): result["ratio"]
        for shape in shapes
        for kernel, result in shape["results"].items()
        if kernel != "baseline" and result.get("ratio")
    }
