"""A mechanism of this exercise: wide units wherever the alignment of a copy allows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.virtual_gpu.report import Launch
from grader.spec import Size
from grader.spec.evidence import Evidence

from .batches import batch_of
from .layout import OneCopy

_LANES = 32
_EDGES_PAY_FROM = 256 << 10  # bytes of a copy; the best limit is smaller, and depends on the GPU


@dataclass(frozen=True)
class _Way:
    """From memory or to it. Every instruction that moves bytes that way counts, so none is a loophole."""

    verb: str
    kinds: tuple[str, ...]  # of counters: see common/virtual_gpu/report.py
    too_much: str  # advice, when more bytes go this way than the copies have

    def requests(self, launches: Sequence[Launch]) -> int:
        return self._sum(launches, "requests")

    def bytes(self, launches: Sequence[Launch]) -> int:
        return self._sum(launches, "bytes")

    def _sum(self, launches: Sequence[Launch], figure: str) -> int:
        return sum(getattr(launch.counters, f"{kind}_{figure}") for launch in launches for kind in self.kinds)


# An atomic operation reads and writes, so it is in both.
_WAYS = (
    _Way(
        "load",
        ("global_load", "async", "global_atomic"),
        "load only the copies' own elements, each once. Every warp would load a table of descriptors in "
        "device memory: pass it by value, as a const __grid_constant__ parameter",
    ),
    _Way("store", ("global_store", "global_atomic"), "store only the copies' own elements, each once"),
)


def most_requests(size: Size) -> int:
    """Load or store instructions of warps with units as wide as their copy allows, row by row, with one
    instruction more at either end of a row."""
    return sum(
        copy.rows * (-(-copy.columns * copy.element_size // (_unit(copy) * _LANES)) + 2)
        for copy in batch_of(size).copies
        if copy.elements
    )


def _unit(copy: OneCopy) -> int:
    return copy.unit_between_edges if copy.bytes >= _EDGES_PAY_FROM else copy.unit


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
            found = f"warps made {seen:,} {way.verb}s; {most:,} suffice ({evidence.case.name})"
            if moved > needed:
                return f"{found}. They moved {moved:,} bytes; the copies have {needed:,}: {way.too_much}"
            return f"{found}: let each lane {way.verb} 16, 8 or 4 bytes at once where both sides allow it"
        return None
