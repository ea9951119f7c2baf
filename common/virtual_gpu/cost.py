"""The modelled time of launches that belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from common.virtual_gpu.report import Launch


@dataclass(frozen=True)
class ModelledTime:
    """What one call would take on the profile's device, always modelled, from a cold L2.

    `limiter`, `sentence` and `round_trips` are those of the launch with the longest body.
    """

    seconds: float = 0.0
    limiter: str = ""
    sentence: str = ""
    round_trips: int = 0
    terms: Mapping[str, float] = field(default_factory=dict)


def modelled(launches: Sequence[Launch], graph_gap: float | None = None) -> ModelledTime:
    """The time between two events around these launches: the floor, a gap before each but the first, and
    all bodies. Terms are summed, with "launch" for the floor and the gaps.

    With `graph_gap`, in seconds, they are one of many such sequences in a graph, where nothing but that gap
    stands before each launch.
    """
    if not launches:
        return ModelledTime()
    first, gaps = launches[0].cost.floor_seconds, sum(launch.cost.gap_seconds for launch in launches[1:])
    if graph_gap is not None:
        first, gaps = graph_gap, graph_gap * (len(launches) - 1)
    overhead = first + gaps
    terms = {"launch": overhead}
    for launch in launches:
        for name, seconds in launch.cost.terms.items():
            terms[name] = terms.get(name, 0.0) + seconds
    longest = max(launches, key=lambda launch: launch.cost.body_seconds).cost
    limiter, sentence = longest.limiter, longest.sentence
    if gaps > sum(launch.cost.body_seconds for launch in launches):
        limiter, sentence = "launch", f"{len(launches)} launches one after the other bound it"
    return ModelledTime(
        seconds=overhead + sum(launch.cost.body_seconds for launch in launches),
        limiter=limiter,
        sentence=sentence,
        round_trips=longest.round_trips,
        terms=terms,
    )
