"""A timeline's spans sorted for display: data in flight, work, and waiting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from common.virtual_gpu.report import Span, Timeline

Interval = tuple[float, float]

# The drawn kind of each kind of instruction.
IN_FLIGHT = {"global load": "global load", "global atomic": "global load", "async copy": "async copy"}
WORK = {
    "global load": "issue of loads and copies",
    "global atomic": "issue of loads and copies",
    "async copy": "issue of loads and copies",
    "global store": "global store",
    "shared load": "shared memory",
    "shared store": "shared memory",
    "shared atomic": "shared memory",
    "shuffle": "math",
    "tensor": "tensor",
    "spill": "global store",
}
_OTHER_WORK = "math"
WAIT, BARRIER = "wait", "barrier"
LEVELS = 6  # of overlapping flights; more share the last one
_SHORT = 3.0  # cycles: a shorter gap between two instructions is not waiting


@dataclass(frozen=True)
class Flight:
    """A load or a copy in flight, on the lowest level that no overlapping one uses."""

    kind: str
    begin: float
    end: float
    level: int


@dataclass
class WarpLanes:
    """In cycles: data in flight to a warp, and the warp's own work by drawn kind."""

    warp: int
    flights: list[Flight] = field(default_factory=list)
    doing: dict[str, list[Interval]] = field(default_factory=dict)


def lanes(timeline: Timeline, most: int) -> list[WarpLanes]:
    """The first warps; time 0 is the start of the first."""
    start = min((span.wanted for span in timeline.spans), default=0.0)
    numbers = sorted({span.warp for span in timeline.spans})[:most]
    return [_lanes_of(number, [s for s in timeline.spans if s.warp == number], start) for number in numbers]


def _lanes_of(number: int, spans: Sequence[Span], start: float) -> WarpLanes:
    made = WarpLanes(number)
    for span, after in zip(spans, [*spans[1:], None], strict=True):
        issued = span.issued - start
        free = (after.wanted if after is not None else span.issued + 1) - start
        if span.kind in IN_FLIGHT and span.done > span.issued:
            _take_off(made.flights, IN_FLIGHT[span.kind], issued, span.done - start)
        if span.issued - span.wanted > _SHORT:
            made.doing.setdefault(WAIT, []).append((span.wanted - start, issued))
        if span.kind == "barrier":
            made.doing.setdefault(BARRIER, []).append((issued, max(span.done - start, issued)))
        else:
            work = WORK.get(span.kind, _OTHER_WORK)
            made.doing.setdefault(work, []).append((issued, max(free, issued + 1)))
    made.doing = {kind: united(found) for kind, found in made.doing.items()}
    return made


def _take_off(flights: list[Flight], kind: str, begin: float, end: float) -> None:
    taken = {flight.level for flight in flights[-LEVELS * LEVELS :] if flight.end > begin}
    level = next((level for level in range(LEVELS) if level not in taken), LEVELS - 1)
    flights.append(Flight(kind, begin, end, level))


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """The same points of time, in intervals that do not touch."""
    made: list[Interval] = []
    for begin, end in sorted(intervals):
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((begin, end))
    return made


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in intervals)


def common(one: Sequence[Interval], other: Sequence[Interval]) -> float:
    """How long both overlap; each list is united."""
    return length(one) + length(other) - length(united([*one, *other]))


def overlap(warps: Sequence[WarpLanes]) -> tuple[float, float]:
    """Cycles with data in flight to a warp, and those of them in which that warp did not wait."""
    flying = hidden = 0.0
    for warp in warps:
        flights = united((flight.begin, flight.end) for flight in warp.flights)
        idle = united((*warp.doing.get(WAIT, ()), *warp.doing.get(BARRIER, ())))
        flying += length(flights)
        hidden += length(flights) - common(flights, idle)
    return flying, hidden
