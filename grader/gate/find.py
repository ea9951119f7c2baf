"""Finds acceptance gates: every folder of `exercises/` with a gate.py has one."""

from __future__ import annotations

import importlib

from common.core.errors import CourseError
from grader.gate.spec import Gate
from grader.spec import Exercise, registry


def find(text: str) -> tuple[Exercise, Gate]:
    exercise = registry.find(text)
    if not (exercise.folder / "gate.py").is_file():
        gated = sorted(path.parent.name for path in registry.EXERCISES.glob("*/gate.py"))
        known = ", ".join(gated) or "none"
        raise CourseError(f"{exercise.id} has no acceptance gate; exercises with a gate: {known}")
    gate: Gate = importlib.import_module(f"exercise_{exercise.id}.gate").gate
    return exercise, gate
