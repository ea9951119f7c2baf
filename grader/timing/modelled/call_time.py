"""The modelled time of one call on the virtual GPU, and what limits it."""

from __future__ import annotations

from common.virtual_gpu.cost import modelled
from common.virtual_gpu.profiles import find_profile
from grader.devices.session import Outcome
from grader.spec import TimingProtocol


def modelled_call(outcome: Outcome, protocol: TimingProtocol = "cold") -> tuple[float, str]:
    """Seconds for all launches of the call, by itself or in a graph of many, and what limits it in words."""
    gap = find_profile(outcome.report.profile).graph_gap_us * 1e-6 if protocol == "graph" else None
    time = modelled(outcome.report.launches, gap)
    return time.seconds, time.sentence
