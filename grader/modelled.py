"""The modelled time of one call on the virtual GPU, and what limits it."""

from __future__ import annotations

from common.virtual_gpu.cost import modelled
from grader.device import Outcome


def modelled_call(outcome: Outcome) -> tuple[float, str]:
    """Seconds for all launches of the call, and what limits it in words."""
    time = modelled(outcome.report.launches)
    return time.seconds, time.sentence
