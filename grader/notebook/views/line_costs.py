"""What each line of a kernel costs, by several measures: the columns of the heat map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from common.virtual_gpu.report import Timeline
from grader.notebook.seen import Seen
from grader.render import traffic


@dataclass(frozen=True)
class Measure:
    """A column: its heading, and the value of every line that has one."""

    heading: str
    meaning: str
    read: Callable[[Seen], dict[int, float]]
    form: str = ",.0f"


def _counted(count: Callable[[traffic.Counts], float]) -> Callable[[Seen], dict[int, float]]:
    return lambda seen: {line: value for line, counts in seen.lines.items() if (value := count(counts))}


def _sum(*names: str) -> Callable[[traffic.Counts], float]:
    return lambda counts: float(sum(counts.get(name, 0) for name in names))


_TO_MEMORY = ("global_load", "global_store", "global_atomic", "async", "bulk_load", "bulk_store")
_SECTORS = tuple(f"{kind}_sectors" for kind in _TO_MEMORY)
_REQUESTS = tuple(f"{kind}_requests" for kind in _TO_MEMORY)


def _per_request(counts: traffic.Counts) -> float:
    requests = _sum(*_REQUESTS)(counts)
    return _sum(*_SECTORS)(counts) / requests if requests else 0.0


def stalls(timeline: Timeline | None) -> dict[int, float]:
    """By line, the percentage of the followed warps' waiting time that was spent there."""
    waited: dict[int, float] = {}
    for span in timeline.spans if timeline is not None else ():
        pause = span.issued - span.wanted + (span.done - span.issued if span.kind == "barrier" else 0.0)
        waited[span.line] = waited.get(span.line, 0.0) + max(pause, 0.0)
    total = sum(waited.values())
    return {line: 100 * value / total for line, value in waited.items() if value > 0 and line}


MEASURES = {
    "sectors": Measure("sectors", "32-byte sectors of global memory requested", _counted(traffic.sectors)),
    "per_request": Measure(
        "per request", "sectors for each request of a warp", _counted(_per_request), form=".1f"
    ),
    "instructions": Measure("instructions", "instructions of warps", _counted(traffic.instructions)),
    "shared": Measure(
        "wavefronts",
        "passes over shared memory",
        _counted(_sum("shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts")),
    ),
    "conflicts": Measure(
        "conflicts",
        "passes over shared memory that bank conflicts added",
        _counted(_sum("shared_load_conflicts", "shared_store_conflicts")),
    ),
    "stalls": Measure(
        "stall %",
        "modelled: of the time that warps wait to issue, the share at this line",
        lambda seen: stalls(seen.timeline),
        form=".1f",
    ),
}
