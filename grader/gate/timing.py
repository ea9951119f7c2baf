"""Times two libraries against each other at one case, with grading's clock or model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from grader.building.libraries import Libraries
from grader.devices.device import Device, GpuDevice
from grader.gate.measured import Times
from grader.records.record import Speed
from grader.spec import Case, Exercise, Speedup


def timed(
    exercise: Exercise,
    case: Case,
    device: Device,
    theirs: Libraries,
    mine: Libraries,
    seed: str,
    notify: Callable[[str], None],
) -> Times:
    """Interleaved, at this case only, with every answer checked."""
    # Measures longer if it is not clear which of the two is faster.
    target = Speedup((case.name,), passing=1.0, full=1.0, protocol=exercise.protocol)
    alone = dataclasses.replace(exercise, targets=(target,), steps=())
    speed = (_modelled if device.modelled else _measured)(alone, device, theirs, mine, seed, notify)
    if not speed.cases:
        return Times(modelled=speed.modelled, lack="; ".join(speed.notes) or "there was no time left")
    (found,) = speed.cases
    if speed.modelled:
        return Times([found.baseline_seconds], [found.seconds], True, notes=speed.notes)
    return Times(found.baseline_samples, found.samples, False, notes=[*speed.notes, found.note])


def _measured(
    exercise: Exercise,
    device: Device,
    theirs: Libraries,
    mine: Libraries,
    seed: str,
    notify: Callable[[str], None],
) -> Speed:
    from grader.timing.measured.measure import measure

    assert isinstance(device, GpuDevice)
    speed = measure(exercise, theirs.gpu_library, device.session(mine), seed, notify)
    if not speed.targets:  # implausible times do not count
        speed.cases = []
    return speed


def _modelled(
    exercise: Exercise,
    device: Device,
    theirs: Libraries,
    mine: Libraries,
    seed: str,
    notify: Callable[[str], None],
) -> Speed:
    from grader.timing.modelled.model import model

    return model(exercise, device.virtual, theirs, mine, seed, notify)
