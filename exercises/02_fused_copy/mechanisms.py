"""A mechanism of this exercise: 16-byte units in the page table, where both sides allow them."""

from __future__ import annotations

from dataclasses import dataclass

from grader.spec import Size
from grader.spec.evidence import Evidence

from .layout import captured_stride, source_stride

_ELEMENTS = 4  # of a unit of 16 bytes
_LANES = 32


def allows_16_bytes(size: Size) -> bool:
    """Whether both sides of every row are equally far from a multiple of 16 bytes."""
    drift = source_stride(size) - captured_stride(size) if size.batch > 1 else 0
    return (size.shift - size.captured_shift) % _ELEMENTS == 0 and drift % _ELEMENTS == 0


def most_requests(size: Size) -> int:
    """Load instructions of warps whose lanes take 16 bytes each, row by row, with one instruction more
    at either end of a row. The stores need as many."""
    return size.batch * (-(-size.columns // (_ELEMENTS * _LANES)) + 2)


@dataclass(frozen=True)
class WideUnits:
    """Rows of the page table move in units of 16 bytes where both sides allow it."""

    name: str = "16-byte units where both sides allow"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        if not allows_16_bytes(size):
            return None
        counters = [launch.counters for launch in evidence.launches]
        loads = sum(each.global_load_requests for each in counters)
        stores = sum(each.global_store_requests for each in counters)
        most = most_requests(size)
        if max(loads, stores) <= most:
            return None
        return (
            f"warps made {loads:,} loads and {stores:,} stores; {most:,} of each suffice "
            f"({evidence.case.name}): both sides of every row allow units of 16 bytes, a uint4 for each lane"
        )
