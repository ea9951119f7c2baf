"""The speed of a program over its baseline, on the device that grades: measured or modelled."""

from __future__ import annotations

from typing import Any

from common.core.progress import Notify
from grader.building.libraries import Libraries
from grader.devices.device import Device, GpuDevice
from grader.spec import Exercise
from grader.timing.modelled.model import model
from grader.timing.timed import Timed


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
    if not isinstance(device, GpuDevice):
        return model(exercise, device.virtual, baseline, program, secret, notify, quick=quick)
    from grader.timing.measured.measure import measure  # needs a GPU's torch

    return Timed(measure(exercise, baseline.gpu_library, device.session(program), secret, notify))
