"""Every kernel of an exercise over its bench shapes: the instructor's view, and what the model is held to."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import CourseError
from grader import seeds
from grader.device.virtual import MEASURING, VirtualSession
from grader.modelled import modelled_call
from grader.pipeline import compile_submission, device_info
from grader.random_inputs import Random
from grader.spec import Case, Exercise
from grader.stages.correctness import CALL_SECONDS

Tell = Callable[[str], None]


def kernels_of(exercise: Exercise) -> dict[str, Path]:
    """The baseline, the solution and its variants, by name."""
    named = {"baseline": exercise.baseline, "solution": exercise.solution}
    return named | {path.stem: path for path in exercise.variants()}


def bench(exercise: Exercise, device: str, tell: Tell = lambda text: None) -> dict[str, Any]:
    """Results by shape and kernel; seconds are medians with intervals, or modelled."""
    info = device_info(device)
    out: dict[str, Any] = {
        "device": info.name,
        "kind": info.kind,
        "driver": info.driver,
        "compiler": info.compiler,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    if device == "gpu":
        from grader.bench_gpu import bench_gpu

        found = bench_gpu(exercise, tell)
    else:
        found = {"shapes": _bench_virtual(exercise, tell)}
    return {**out, "exercises": {exercise.id: found}}


def _bench_virtual(exercise: Exercise, tell: Tell) -> list[dict[str, Any]]:
    shapes = [case for case in exercise.bench if not case.gpu_only]
    rows = {case.name: _row(exercise, case) for case in shapes}
    with TemporaryDirectory(prefix="bench-") as scratch:
        for name, source in kernels_of(exercise).items():
            tell(f"modelling {name}")
            built = compile_submission(source, "virtual", Path(scratch) / name)
            with VirtualSession(
                built.path("virtual"), options=MEASURING, resources=built.registers
            ) as session:
                for number, case in enumerate(shapes):
                    call = exercise.inputs(case.size, Random(seeds.derive("bench", number)))
                    outcome = session.run(exercise.entry, call, CALL_SECONDS)
                    if not outcome.ok:
                        raise CourseError(f"{name} failed at {case.name}: {outcome.message}")
                    seconds, limit = modelled_call(outcome)
                    rows[case.name]["results"][name] = {"seconds": seconds, "limit": limit}
    for row in rows.values():
        base = row["results"]["baseline"]["seconds"]
        for result in row["results"].values():
            result["ratio"] = base / result["seconds"]
    return list(rows.values())


def _row(exercise: Exercise, case: Case) -> dict[str, Any]:
    return {
        "case": case.name,
        "sizes": dict(case.sizes),
        "bytes": exercise.bytes_moved(case.size),
        "results": {},
    }
