"""Mechanisms of this exercise: products on the tensor cores, and little traffic in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from grader.spec import Size
from grader.spec.evidence import Evidence

from .shapes import elements, products

_LANES = 32


def _stores(size: Size, rows: int) -> int:
    """Stores of a warp for so many rows of every head, 16 bytes per lane."""
    return size.batch * size.heads * rows * size.head_dim // 8 // _LANES


@dataclass(frozen=True)
class TensorCores:
    """Both products on the tensor cores: about as many instructions as the arithmetic takes."""

    name: str = "both products on the tensor cores"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        seen = sum(launch.counters.matrix_instructions for launch in evidence.launches)
        wanted = products(size) // (2 if size.causal else 1)  # a causal kernel may skip half
        if seen >= wanted:
            return None
        return (
            f"{seen:,} matrix instructions ({evidence.case.name}); the two products take at least "
            f"{wanted:,}: multiply queries with keys, and weights with values, by mma or wmma"
        )


@dataclass(frozen=True)
class ScoresInRegisters:
    """Shared memory is written with tiles and, once, with the output: never with scores or weights."""

    name: str = "no scores in shared memory"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        seen = sum(launch.counters.shared_store_requests for launch in evidence.launches)
        counters = [launch.counters for launch in evidence.launches]
        copied = sum(each.async_bytes + each.bulk_load_bytes for each in counters)
        # cp.async makes no stores. Without it, for every 64 rows of queries: the queries, and twice the keys
        # and values, for kernels with 32 rows per tile; 16 bytes per lane.
        tiles = -(-size.length // 64)
        brought = 1 + (0 if copied >= 2 * 2 * elements(size) else 2 * 2 * tiles)
        # The output, 4 bytes per lane, with all the rows of a large tile.
        most = _stores(size, tiles * 64) * brought + 4 * _stores(size, -(-size.length // 256) * 256)
        if seen <= most:
            return None
        return (
            f"{seen:,} stores to shared memory ({evidence.case.name}); tiles and the output take at most "
            f"{most:,}: keep scores in registers, and pack them for the second product"
        )


@dataclass(frozen=True)
class NoBankConflicts:
    """No access to shared memory has a bank conflict."""

    name: str = "no bank conflicts"

    def look(self, evidence: Evidence) -> str | None:
        met = sum(
            launch.counters.shared_load_conflicts + launch.counters.shared_store_conflicts
            for launch in evidence.launches
        )
        if met == 0:
            return None
        return (
            f"{met:,} bank conflicts in shared memory ({evidence.case.name}): eight rows that are read at "
            "once must have the same piece in different banks, so each needs another order of its pieces, "
            "wherever a tile is written and read; `./course profile` shows the lines"
        )


@dataclass(frozen=True)
class Persistent:
    """No more blocks than the GPU holds at once."""

    name: str = "no more blocks than run at once"

    def look(self, evidence: Evidence) -> str | None:
        for launch in evidence.launches:
            blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
            at_once = launch.occupancy.blocks_per_sm * evidence.multiprocessors
            if blocks > at_once:
                return (
                    f"{blocks:,} blocks of {launch.kernel} ({evidence.case.name}), of which {at_once:,} run "
                    "at once: launch that many, and let each take tile after tile"
                )
        return None
