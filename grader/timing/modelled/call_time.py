"""The modelled time of one call on the virtual GPU, and what limits it."""

from __future__ import annotations

from common.virtual_gpu.cost import modelled
from common.virtual_gpu.profiles import profiles
from grader.devices.session import Outcome
from grader.spec import TimingProtocol


def modelled_call(outcome: Outcome, protocol: TimingProtocol = "cold") -> tuple[float, str]:
    """Seconds for all launches of the call, alone or in a graph of many, and a sentence on what limits it."""
    gap = _graph_gap(outcome.report.profile) if protocol == "graph" else None
    time = modelled(outcome.report.launches, gap)
    return time.seconds, time.sentence


def _graph_gap(profile: str) -> float:
    """Seconds from one launch to the next inside a graph on the profile's device."""
    return float(profiles()[profile]["graph_gap_us"]) * 1e-6
