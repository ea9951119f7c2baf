"""Cheats that need a real clock, against exercise 01 on hardware: none is faster than the baseline it hides.

Below each of them is the baseline, which reaches the bandwidth target by itself and may keep those points.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.spec import CopyBandwidth, registry

EXERCISE = registry.find("01")
CHEATS: dict[str, str] = importlib.import_module("tests.exercises.01_kv_store.cheats").CHEATS
STAGES = ("build", "correctness", "speed")
OF_THE_BASELINE = EXERCISE.points.speed * sum(
    target.share for target in EXERCISE.targets if isinstance(target, CopyBandwidth)
)


@pytest.mark.parametrize("name", [name for name in CHEATS if name.startswith("t")])
def test_a_cheat_on_the_clock_gains_nothing_by_it(name: str, tmp_path: Path):
    source = tmp_path / "kernel.cu"
    source.write_text(CHEATS[name])
    record = grade(EXERCISE, source, submission=name, device="gpu", stages=STAGES)
    speed = next(part for part in record.parts if part.name == "speed")
    assert speed.points <= OF_THE_BASELINE, speed.message


def test_the_solution_is_still_paid_for_its_speed():
    """What catches cheats must not catch the honest."""
    record = grade(EXERCISE, EXERCISE.solution, submission="solution", device="gpu", stages=STAGES)
    speed = next(part for part in record.parts if part.name == "speed")
    assert speed.points == speed.max_points, (speed.message, record.speed and record.speed.notes)
