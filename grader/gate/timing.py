"""Times two libraries against each other at one case, with grading's clock or model."""

from __future__ import annotations

import dataclasses

from common.core.progress import Notify
from grader.building.libraries import Libraries
from grader.devices.device import Device
from grader.gate.measured import Times
from grader.spec import Case, Exercise, Speedup
from grader.timing.speed import speed_over_baseline


def timed(
    exercise: Exercise,
    case: Case,
    device: Device,
    theirs: Libraries,
    mine: Libraries,
    seed: str,
    notify: Notify,
) -> Times:
    """Interleaved, at this case only, with every answer checked."""
    # Measures longer if it is not clear which of the two is faster.
    target = Speedup((case.name,), passing=1.0, full=1.0, protocol=exercise.protocol)
    alone = dataclasses.replace(exercise, targets=(target,), steps=())
    speed = speed_over_baseline(alone, device, theirs, mine, seed, notify).speed
    # Measured times that are implausible decide no target, and do not count.
    if not speed.cases or not (speed.modelled or speed.targets):
        return Times(modelled=speed.modelled, lack="; ".join(speed.notes) or "there was no time left")
    (found,) = speed.cases
    if speed.modelled:
        return Times([found.baseline_seconds], [found.seconds], True, notes=speed.notes)
    return Times(found.baseline_samples, found.samples, False, notes=[*speed.notes, found.note])
