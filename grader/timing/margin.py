"""How far the cost model may be off for an exercise: as far as it was on that exercise's own kernels."""

from __future__ import annotations

import json
from pathlib import Path

from common.core.paths import MEASURED
from grader.spec import Exercise

ON_GPU = MEASURED / "nvidia-h200.json"
MODELLED = MEASURED / "virtual-h200.json"
LEAST = 1.10  # the model claims nothing finer, however well it did on the variants
_QUANTILE = 0.9


def model_margin(exercise: Exercise, measured: Path = ON_GPU, modelled: Path = MODELLED) -> float:
    """A factor, at least 1.10: nine in ten modelled ratios of the exercise's own kernels were within it."""
    errors = sorted(ratio_errors(exercise.id, measured, modelled))
    if not errors:
        return LEAST
    return max(LEAST, errors[min(len(errors) - 1, int(_QUANTILE * len(errors)))])


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
