"""The description of a shape in a benchmark file."""

from __future__ import annotations

from typing import Any

from grader.spec import Case, Exercise, Step


def shape_of(exercise: Exercise, case: Case) -> dict[str, Any]:
    """With the baseline's bytes if it uses another case."""
    shape = {"case": case.name, "sizes": dict(case.sizes), "bytes": exercise.moved(case)}
    of_baseline = exercise.moved(exercise.case_of_baseline(case))
    return shape if of_baseline == shape["bytes"] else {**shape, "baseline_bytes": of_baseline}


def step_shape_of(step: Step, case: Case) -> dict[str, Any]:
    about = {"step": step.name, "entry": step.entry}
    return {**about, "case": case.name, "sizes": dict(case.sizes), "bytes": step.moved(case)}
