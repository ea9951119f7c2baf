"""A line's costs in a few words that fit beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Counts = Mapping[str, int]

_SECTORS = (
    *("global_load_sectors", "global_store_sectors", "global_atomic_sectors"),
    *("async_sectors", "bulk_load_sectors", "bulk_store_sectors"),
)
# Before the shape in the name of a count of products by shape: "wgmma m64n128k16.f32.f16".
WGMMA = "wgmma "
_LOCAL = ("local_load_sectors", "local_store_sectors")


@dataclass(frozen=True)
class _Kind:
    """One kind of traffic: its word, its counters, and the words for each request's share."""

    word: str
    requests: str
    parts: str
    unit: str
    conflicts: str = ""


_KINDS = (
    _Kind("load", "global_load_requests", "global_load_sectors", "sectors"),
    _Kind("store", "global_store_requests", "global_store_sectors", "sectors"),
    _Kind("atomic", "global_atomic_requests", "global_atomic_sectors", "sectors"),
    _Kind("cp.async", "async_requests", "async_sectors", "sectors"),
    _Kind("bulk load", "bulk_load_requests", "bulk_load_sectors", "sectors"),
    _Kind("bulk store", "bulk_store_requests", "bulk_store_sectors", "sectors"),
    _Kind(
        "shared load", "shared_load_requests", "shared_load_wavefronts", "wavefronts", "shared_load_conflicts"
    ),
    _Kind(
        "shared store",
        "shared_store_requests",
        "shared_store_wavefronts",
        "wavefronts",
        "shared_store_conflicts",
    ),
    _Kind("spill load", "local_load_requests", "local_load_sectors", "sectors"),
    _Kind("spill store", "local_store_requests", "local_store_sectors", "sectors"),
)


def sectors(counts: Counts) -> int:
    """32-byte sectors of global memory that a line requested."""
    return sum(counts.get(name, 0) for name in (*_SECTORS, *_LOCAL))


def instructions(counts: Counts) -> int:
    return counts.get("warp_instructions", 0)


def words(counts: Counts) -> str:
    """ "load 64 × 4.0 sectors; 3 bank conflicts"."""
    said = []
    for kind in _KINDS:
        if requests := counts.get(kind.requests, 0):
            each = counts.get(kind.parts, 0) / requests
            said.append(f"{kind.word} {requests:,} × {each:.1f} {kind.unit}")
            if conflicts := counts.get(kind.conflicts, 0):
                said.append(f"{conflicts:,} bank conflicts")
    if matrices := counts.get("matrix_instructions", 0):
        shapes = {name: count for name, count in counts.items() if name.startswith(WGMMA)}
        said += [f"{count:,} {name}" for name, count in shapes.items()]
        if others := matrices - sum(shapes.values()):
            said.append(f"{others:,} matrix instructions")
    if divergent := counts.get("divergent_branches", 0):
        said.append(f"{divergent:,} divergent branches")
    return "; ".join(said)


def heat(lines: Mapping[int, Counts]) -> dict[int, float]:
    """How hot each line is, 0 to 1: its share of the sectors or of the instructions, whichever is larger."""

    def shares(measure: Callable[[Counts], int]) -> dict[int, float]:
        most = max((measure(counts) for counts in lines.values()), default=0)
        return {line: measure(counts) / most if most else 0.0 for line, counts in lines.items()}

    by_sectors, by_instructions = shares(sectors), shares(instructions)
    return {line: max(by_sectors[line], by_instructions[line]) for line in lines}
