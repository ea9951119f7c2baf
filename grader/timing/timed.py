"""The result of timing a program over its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from common.virtual_gpu.report import Report
from grader.records.record import Speed

_HOW = {"cold": "cold L2", "graph": "many calls in a CUDA graph"}


def how_timed(protocols: Iterable[str]) -> str:
    """In words, by protocol."""
    return " and ".join(_HOW[protocol] for protocol in protocols)


@dataclass(frozen=True)
class Timed:
    """`reasons` has a word for each of the cases in `speed.wrong`, where it is known. `reports` are the
    virtual GPU's on the program's timed calls."""

    speed: Speed
    reasons: Mapping[str, str] = field(default_factory=dict)
    reports: Sequence[Report] = ()
