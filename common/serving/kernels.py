"""Which CUDA file a wrapper runs."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY


def chosen_kernel(exercise: str, variable: str) -> Path:
    """The file that the environment variable names; else the solution; else one's own work."""
    named = os.environ.get(variable)
    return Path(named).absolute() if named else _found(exercise, variable)


@functools.cache  # asked once a decoding step
def _found(exercise: str, variable: str) -> Path:
    places = [REPOSITORY / folder / exercise / "kernel.cu" for folder in ("solutions", "work")]
    for place in places:
        if place.is_file():
            return place
    raise CourseError(
        f"there is no kernel for {exercise} yet: write one (`./course start {exercise.partition('_')[0]}`), "
        f"or name a CUDA file in {variable}"
    )
