"""Mechanisms of this exercise, from what the virtual GPU counts: tiles by the copy engine, products of four
warps, and blocks that stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.spec import Size
from grader.spec.evidence import Evidence

from .shapes import products

_LEAST_ROWS = 8  # of a copy, or all that there are: 1,024 bytes, where cp.async moves at most 512 for a warp
_ROW_BYTES = 128  # of a tile
_MOST_OF_WGMMA = 32  # products of 16 x 8 x 16 in one warp's part of the largest wgmma, 64 x 256 x 16
_GROUP_ROWS = 64  # of queries, a warpgroup's
_MOST_KEYS = 256  # of a tile: wgmma has no more columns
_LEAST_OF_WGMMA = 4  # in that of the smallest that makes sense here, 64 x 32 x 16


@dataclass(frozen=True)
class TilesByCopyEngine:
    """The tensors arrive by bulk copies: many bytes for each instruction, and next to nothing by loads."""

    least_bytes: Callable[[Size], int]
    name: str = "the copy engine brings the tiles"

    def look(self, evidence: Evidence) -> str | None:
        counters = [launch.counters for launch in evidence.launches]
        copies = sum(c.async_requests + c.bulk_load_requests + c.bulk_store_requests for c in counters)
        moved = sum(c.bulk_load_bytes for c in counters)
        wanted = self.least_bytes(evidence.case.size)
        loaded = sum(c.global_load_bytes + c.global_atomic_bytes for c in counters)
        if moved < wanted:
            return (
                f"{moved:,} bytes came by the copy engine ({evidence.case.name}), where the tensors have "
                f"{wanted:,}: load tiles with load_tile()"
            )
        stored = sum(c.bulk_store_bytes for c in counters)
        if moved + stored < copies * _ROW_BYTES * min(_LEAST_ROWS, evidence.case.size.length):
            return (
                f"an asynchronous copy moved {(moved + stored) // copies:,} bytes on average "
                f"({evidence.case.name}), as cp.async does: one thread should ask for a whole tile, with "
                "load_tile()"
            )
        if loaded > wanted // 8:
            return (
                f"loads and atomics read {loaded:,} bytes beside the copies ({evidence.case.name}): use what "
                "load_tile() brought to shared memory"
            )
        return None


@dataclass(frozen=True)
class ProductsOfFourWarps:
    """Both products by wgmma: far fewer instructions than by mma, and enough for the arithmetic."""

    name: str = "both products by wgmma"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        seen = sum(launch.counters.wgmma_instructions for launch in evidence.launches)
        work = products(size) // (2 if size.causal else 1)  # a causal kernel may skip half
        rows = -(-size.length // 256) * 256  # with the rows and keys that fill up large tiles
        most = size.batch * size.heads * (rows // 16) * (rows // 8) * (size.head_dim // 16) * 2
        if work // _MOST_OF_WGMMA <= seen <= most // _LEAST_OF_WGMMA:
            return None
        return (
            f"{seen:,} wgmma instructions of warps ({evidence.case.name}), where both products take "
            f"{work // _MOST_OF_WGMMA:,} to {most // _LEAST_OF_WGMMA:,}: multiply queries with "
            "keys, and weights with values, by Product<…> of wgmma.cuh"
        )


@dataclass(frozen=True)
class TwoConsumers:
    """A block has at least a producer and two consumer warpgroups."""

    name: str = "two warpgroups of consumers"

    def look(self, evidence: Evidence) -> str | None:
        threads = [launch.block[0] * launch.block[1] * launch.block[2] for launch in evidence.launches]
        if all(number >= 3 * 128 for number in threads):
            return None
        return (
            f"a block has {min(threads)} threads ({evidence.case.name}): with one producer and two consumer "
            "warpgroups it has 384, and while one multiplies, the other computes weights"
        )


@dataclass(frozen=True)
class WeightsUnderProducts:
    """Warps leave a product in flight when they have waited for another one: tile after tile but the first,
    while the weights are computed. So only cases with several tiles of keys show it."""

    name: str = "weights are computed while products run"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        seen = sum(launch.counters.wgmma_open_waits for launch in evidence.launches)
        groups = -(-size.length // _GROUP_ROWS)
        keys = [
            min(size.length, (group + 1) * _GROUP_ROWS) if size.causal else size.length
            for group in range(groups)
        ]
        least = 4 * size.batch * size.heads * sum(-(-number // _MOST_KEYS) - 1 for number in keys)
        if seen >= least:
            return None
        return (
            f"{seen:,} waits of warps left a product in flight ({evidence.case.name}), where {least:,} are "
            "needed: begin a tile's scores before the values of the tile before it are multiplied, and "
            "wait_for_products<1>() before weigh()"
        )

    def look_anywhere(self, evidence: Evidence) -> str | None:
        return self.look(evidence)


@dataclass(frozen=True)
class NoScoresInSharedMemory:
    """Threads store only the output to shared memory, 4 bytes per lane at least."""

    name: str = "no scores in shared memory"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        seen = sum(launch.counters.shared_store_requests for launch in evidence.launches)
        rows = -(-size.length // 256) * 256
        most = size.batch * size.heads * rows * size.head_dim * 2 // 128
        if seen <= most:
            return None
        return (
            f"{seen:,} stores to shared memory ({evidence.case.name}); the output takes at most {most:,}: "
            "keep scores in registers, and pack them for the second product"
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
