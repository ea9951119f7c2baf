"""The speed of a program over its baseline, on the device that grades: measured or modelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from common.core.progress import Notify
from grader.building.libraries import Libraries
from grader.devices.device import Device
from grader.spec import Exercise
from grader.timing.modelled.model import model
from grader.timing.timed import Timed

if TYPE_CHECKING:
    from grader.devices.on_gpu.session import GpuSession


def speed_over_baseline(
    exercise: Exercise,
    device: Device,
    baseline: Libraries,
    program: Any,  # what the device runs
    secret: str,
    notify: Notify,
    *,
    quick: bool = False,
) -> Timed:
    """At the cases of the exercise's targets, with every answer of the program checked."""
    if device.modelled:
        return model(exercise, device.virtual, baseline, program, secret, notify, quick=quick)
    from grader.timing.measured.measure import measure  # needs a GPU's torch

    session = cast("GpuSession", device.session(program))  # of every device whose times are measured
    return Timed(measure(exercise, baseline.gpu_library, session, secret, notify))
