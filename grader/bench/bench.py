"""Times every kernel of an exercise over its bench shapes, for instructors and to validate the model."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.progress import Notify
from grader.course import student
from grader.devices.device import Device, device_of
from grader.records.device_info import DeviceInfo
from grader.spec import Exercise


def kernels_of(exercise: Exercise) -> dict[str, Path]:
    """The baseline, the solution and its variants, by name. Students have no solution, but their own file."""
    if not exercise.solution.is_file():
        return {"baseline": exercise.baseline, "yours": student.own_file(exercise, None)}
    named = {"baseline": exercise.baseline, "solution": exercise.solution}
    return named | {path.stem: path for path in exercise.variants()}


def bench(
    exercise: Exercise, device: DeviceInfo | str, notify: Notify = lambda text: None, *, large: bool = False
) -> dict[str, Any]:
    """Results by shape and kernel; seconds are medians with intervals, or modelled.

    With `large` the virtual GPU models the shapes meant for GPUs too; a GPU measures them in any case.
    """
    chosen = device_of(device)
    return result_file(exercise, chosen.info, measure(exercise, chosen, notify, large=large))


def measure(
    exercise: Exercise,
    device: Device,
    notify: Notify,
    *,
    large: bool,
    sources: Mapping[str, Path] | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """The entry of an exercise. `sources` replace its kernels; `only` names the one shape to measure."""
    if device.modelled:
        from grader.bench.on_virtual import bench_virtual

        card = device.info.name
        return bench_virtual(exercise, notify, large=large, card=card, sources=sources, only=only)
    from grader.bench.on_gpu import bench_gpu

    return bench_gpu(exercise, notify, sources=sources, only=only)


def result_file(exercise: Exercise, info: DeviceInfo, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An exercise's entry as the file of a device has it."""
    return {
        "device": info.name,
        "kind": info.kind,
        "driver": info.driver,
        "compiler": info.compiler,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "exercises": {exercise.id: dict(entry)},
    }
