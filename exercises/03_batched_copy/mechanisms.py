"""What this exercise looks for beside the usual: wide units wherever the alignment of a copy allows them."""

from __future__ import annotations

from dataclasses import dataclass

from grader.evidence import Evidence
from grader.spec import Size

from .batches import batch_of

_LANES = 32


def most_requests(size: Size) -> int:
    """Load instructions of warps that take units as wide as their copy allows: a row at a time, with one
    instruction more at either end."""
    return sum(
        copy.rows * (-(-copy.columns * copy.element_size // (copy.unit * _LANES)) + 2)
        for copy in batch_of(size).copies
        if copy.elements
    )


@dataclass(frozen=True)
class WideUnits:
    """Rows move in the widest units that their alignment allows."""

    name: str = "wide units where alignment allows"

    def look(self, evidence: Evidence) -> str | None:
        seen = sum(launch.counters.global_load_requests for launch in evidence.launches)
        most = most_requests(evidence.case.size)
        if seen <= most:
            return None
        return (
            f"warps asked for memory {seen:,} times where {most:,} suffice ({evidence.case.name}): let each "
            "lane load 16, 8 or 4 bytes at once where both sides allow it"
        )
