"""The quantities of predictions: counted or modelled by the virtual GPU, or timed by a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.virtual_gpu.report import SECTOR_BYTES, Launch
from grader.spec.question import MEASURED_SPEEDUP

if TYPE_CHECKING:
    from grader.actions.profile import Profile


@dataclass(frozen=True)
class Quantity:
    """A number that `read` finds in a call's profile; without `read`, one that needs a GPU's clock."""

    words: str
    unit: str
    read: Callable[[Profile], float] | None
    over_baseline: bool = False  # the baseline's value over this one

    @property
    def modelled(self) -> bool:
        return self.words.startswith("modelled")


def _total(*names: str) -> Callable[[Profile], float]:
    return lambda seen: float(
        sum(getattr(launch.counters, name) for launch in seen.report.launches for name in names)
    )


def _each(parts: str, requests: str) -> Callable[[Profile], float]:
    """Per request; 0 where there was no request."""
    above, below = _total(parts), _total(requests)
    return lambda seen: above(seen) / below(seen) if below(seen) else 0.0


def _longest(read: Callable[[Launch], float]) -> Callable[[Profile], float]:
    """Read from the longest launch; 0 where there is none."""

    def of(seen: Profile) -> float:
        launches = seen.report.launches
        return float(read(max(launches, key=lambda one: one.cost.body_seconds))) if launches else 0.0

    return of


QUANTITIES = {
    "launches": Quantity("launches", "", lambda seen: float(len(seen.report.launches))),
    "load_sectors_per_request": Quantity(
        "sectors per load request", "sectors", _each("global_load_sectors", "global_load_requests")
    ),
    "store_sectors_per_request": Quantity(
        "sectors per store request", "sectors", _each("global_store_sectors", "global_store_requests")
    ),
    "async_sectors_per_request": Quantity(
        "sectors per cp.async request", "sectors", _each("async_sectors", "async_requests")
    ),
    "bytes_read": Quantity(
        "bytes read", "bytes", _total("global_load_bytes", "async_bytes", "bulk_load_bytes")
    ),
    "bytes_written": Quantity("bytes written", "bytes", _total("global_store_bytes", "bulk_store_bytes")),
    "first_bytes_read": Quantity(
        "bytes that the longest launch reads, each sector counted once",
        "bytes",
        _longest(lambda one: SECTOR_BYTES * one.distinct_load_sectors),
    ),
    "matrix_instructions": Quantity("matrix instructions", "", _total("matrix_instructions")),
    "bank_conflicts": Quantity(
        "bank conflicts", "conflicts", _total("shared_load_conflicts", "shared_store_conflicts")
    ),
    "blocks": Quantity("blocks", "blocks", _longest(lambda one: one.grid[0] * one.grid[1] * one.grid[2])),
    "threads_per_block": Quantity(
        "threads of a block", "threads", _longest(lambda one: one.block[0] * one.block[1] * one.block[2])
    ),
    "shared_bytes": Quantity(
        "shared memory of a block", "bytes", _longest(lambda one: one.static_shared + one.dynamic_shared)
    ),
    "registers": Quantity("registers of a thread", "registers", _longest(lambda one: one.registers)),
    "occupancy_percent": Quantity("occupancy", "%", _longest(lambda one: 100 * one.occupancy.fraction)),
    "round_trips": Quantity(
        "modelled trips to memory, one after another",
        "trips",
        _longest(lambda one: one.cost.round_trips),
    ),
    "microseconds": Quantity("modelled time", "µs", lambda seen: seen.shown_seconds * 1e6),
    "speedup": Quantity(
        "modelled speedup over the baseline", "×", lambda seen: seen.shown_seconds, over_baseline=True
    ),
    MEASURED_SPEEDUP: Quantity("measured speedup over the baseline", "×", None),
}
