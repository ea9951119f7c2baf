"""The modelled time of launches that belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from common.virtual_gpu.report import Body, Cost, Launch


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
    stands before each launch, and L2 holds what the engine's option `calls_in_graph` says.
    """
    if not launches:
        return ModelledTime()
    first, gaps = launches[0].cost.floor_seconds, sum(launch.cost.gap_seconds for launch in launches[1:])
    if graph_gap is not None:
        first, gaps = graph_gap, graph_gap * (len(launches) - 1)
    overhead = first + gaps
    terms = {"launch": overhead}
    bodies = [_body(launch.cost, in_graph=graph_gap is not None) for launch in launches]
    for body in bodies:
        for name, seconds in body.terms.items():
            terms[name] = terms.get(name, 0.0) + seconds
    longest = max(bodies, key=lambda body: body.body_seconds)
    limiter, sentence = longest.limiter, longest.sentence
    if gaps > sum(body.body_seconds for body in bodies):
        limiter, sentence = "launch", f"{len(launches)} launches one after the other bound it"
    return ModelledTime(
        seconds=overhead + sum(body.body_seconds for body in bodies),
        limiter=limiter,
        sentence=sentence,
        round_trips=longest.round_trips,
        terms=terms,
    )


def _body(cost: Cost, *, in_graph: bool) -> Body | Cost:
    return cost.in_graph if in_graph and cost.in_graph is not None else cost
