"""What this exercise looks for beside the usual: wide units wherever the alignment of a copy allows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.virtual_gpu.report import Launch
from grader.spec import Size
from grader.spec.evidence import Evidence

from .batches import batch_of

_LANES = 32


@dataclass(frozen=True)
class _Way:
    """From memory or to it. Whatever brings bytes that way counts, or there would be a way around."""

    verb: str
    kinds: tuple[str, ...]  # of counters: see common/virtual_gpu/report.py
    too_much: str  # advice, when more bytes go this way than the copies have

    def requests(self, launches: Sequence[Launch]) -> int:
        return self._sum(launches, "requests")

    def bytes(self, launches: Sequence[Launch]) -> int:
        return self._sum(launches, "bytes")

    def _sum(self, launches: Sequence[Launch], figure: str) -> int:
        return sum(getattr(launch.counters, f"{kind}_{figure}") for launch in launches for kind in self.kinds)


# An atomic operation reads and writes, so it stands in both.
_WAYS = (
    _Way(
        "load",
        ("global_load", "async", "global_atomic"),
        "load nothing beside the copies' own elements, and those once; a table of descriptors in device "
        "memory is loaded by every warp: pass it by value, as a const __grid_constant__ parameter",
    ),
    _Way("store", ("global_store", "global_atomic"), "store nothing but the copies' own elements, and once"),
)


def most_requests(size: Size) -> int:
    """Load or store instructions of warps that take units as wide as their copy allows: a row at a time, with
    one instruction more at either end."""
    return sum(
        copy.rows * (-(-copy.columns * copy.element_size // (copy.unit * _LANES)) + 2)
        for copy in batch_of(size).copies
        if copy.elements
    )


@dataclass(frozen=True)
class WideUnits:
    """Rows move in the widest units that their alignment allows, on both sides."""

    name: str = "wide units where alignment allows"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        most, needed = most_requests(size), sum(copy.bytes for copy in batch_of(size).copies)
        for way in _WAYS:
            seen, moved = way.requests(evidence.launches), way.bytes(evidence.launches)
            if seen <= most:
                continue
            told = f"warps {way.verb} {seen:,} times where {most:,} suffice ({evidence.case.name})"
            if moved > needed:
                return f"{told}, {moved:,} bytes where the copies have {needed:,}: {way.too_much}"
            return f"{told}: let each lane {way.verb} 16, 8 or 4 bytes at once where both sides allow it"
        return None
