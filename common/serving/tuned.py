"""The macros with which a search (`./course tune`) found a kernel fastest, at sizes near those of a call."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.core.paths import MEASURED

FOLDER = MEASURED / "tuned"
# Of the searches at a case, the first that is there: a launcher has no limits but the device's.
_SEARCHES = ("free", "gated")

Sizes = Mapping[str, int]
Defines = Mapping[str, int]


@dataclass(frozen=True)
class Tuned:
    """One case that was searched."""

    sizes: Sizes
    defines: Defines


def nearest(found: Sequence[Tuned], sizes: Sizes, alike: Sequence[str], near: Sequence[str]) -> Defines:
    """Of the case that is nearest, by the factors between the sizes `near`; none where no case has the same
    sizes `alike`."""
    fitting = [one for one in found if all(one.sizes[name] == sizes[name] for name in alike)]
    if not fitting:
        return {}
    return min(fitting, key=lambda one: _distance(one.sizes, sizes, near)).defines


def _distance(one: Sizes, other: Sizes, near: Sequence[str]) -> float:
    return sum(abs(math.log(max(1, one[name]) / max(1, other[name]))) for name in near)


@functools.cache  # asked at every launch
def searched(exercise: str, gpu: str) -> tuple[Tuned, ...]:
    """Every case of the exercise that was searched on a GPU of this name."""
    cases: list[Tuned] = []
    for path in sorted(FOLDER.glob("*/configurations.json")):
        held = json.loads(path.read_text())
        if (held["exercise"], held["device"]) == (exercise, gpu):
            cases += [_best(case) for case in held["cases"].values()]
    return tuple(cases)


def _best(case: Mapping[str, Any]) -> Tuned:
    result = next(case[search] for search in _SEARCHES if search in case)
    best = result["best"]
    return Tuned(result["sizes"], best[0]["defines"] if best else {})
