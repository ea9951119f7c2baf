"""The baselines' times on a card, where they were measured: then only the submission's time is modelled."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from common.core.paths import MEASURED
from grader.spec import Case, Exercise, TimingProtocol


def baselines(profile: str) -> Path:
    """What `python -m benchmarks.model baselines` collected from the measurements on the profile's card."""
    return MEASURED / f"baselines-{profile}.json"


def measured_baseline(exercise: Exercise, case: Case, protocol: TimingProtocol, profile: str) -> float | None:
    """Seconds; None where this baseline was not measured at the case in this way."""
    found = _read(baselines(profile)).get(exercise.id)
    if found is None or found["protocol"] != protocol or found["sha256"] != fingerprint(exercise.baseline):
        return None
    measured = found["cases"].get(case.name)
    if measured is None or any(case.sizes.get(name) != size for name, size in measured["sizes"].items()):
        return None
    seconds: float = measured["seconds"]
    return seconds


def fingerprint(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


@functools.cache
def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    exercises: dict[str, Any] = json.loads(path.read_text())["exercises"]
    return exercises
