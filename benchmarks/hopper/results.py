"""Where the figures of exercise 06 are stored, and what its file calls the kernels."""

from __future__ import annotations

import statistics

from benchmarks import DATA
from benchmarks.flash.results import Found, way_of

FOLDER = DATA / "hopper"
EXERCISE = "06"
OURS, LIKE_05 = "06", "05, free"
IN_ORDER, OVERLAPPED = "step 3: products of four warps", "step 4: weights under products"


def mean_ratio(shapes: list[Found], name: str, against: str) -> float:
    """How many times as fast as another: the geometric mean over the shapes."""
    return statistics.geometric_mean(
        over["microseconds"] / mine["microseconds"]
        for shape in shapes
        if (mine := way_of(shape, name)) and (over := way_of(shape, against))
    )
