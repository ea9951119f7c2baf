"""Counters that support a configuration besides its time, by name, and which direction is better."""

from __future__ import annotations

from collections.abc import Mapping

from common.virtual_gpu.report import SECTOR_BYTES, Launch

MORE, LESS, EITHER = 1, -1, 0
L2_HITS, DRAM_TRAFFIC, TENSOR = "L2 hit rate, %", "DRAM traffic, MB", "tensor pipe, %"
DRAM_THROUGHPUT = "DRAM throughput, %"
L2_SECTORS, WAVEFRONTS, CONFLICTS = "L2 sectors", "shared wavefronts", "bank conflicts"
# For a share of a peak, neither direction is better by itself.
BETTER = {
    L2_HITS: MORE,
    DRAM_TRAFFIC: LESS,
    DRAM_THROUGHPUT: EITHER,
    TENSOR: EITHER,
    "tensor instructions": EITHER,
    L2_SECTORS: LESS,
    WAVEFRONTS: LESS,
    CONFLICTS: LESS,
}
_CLEARLY, _SLIGHTLY = 0.05, 0.01


def better(mine: Mapping[str, float], theirs: Mapping[str, float]) -> bool:
    """Whether at least one is clearly better, and none is worse by more than the counting error."""
    gains = [
        BETTER[name] * (mine[name] - theirs[name]) / max(abs(theirs[name]), 1e-9)
        for name in BETTER
        if BETTER[name] != EITHER and name in mine and name in theirs
    ]
    return any(gain >= _CLEARLY for gain in gains) and all(gain >= -_SLIGHTLY for gain in gains)


def of_launches(launches: tuple[Launch, ...]) -> dict[str, float]:
    """The virtual GPU's counters of one call."""
    counted = [launch.counters for launch in launches]
    loads = sum(one.global_load_sectors + one.async_sectors + one.bulk_load_sectors for one in counted)
    stores = sum(one.global_store_sectors + one.bulk_store_sectors for one in counted)
    touched = sum(one.distinct_load_sectors + one.distinct_store_sectors for one in launches)
    return {
        DRAM_TRAFFIC: touched * SECTOR_BYTES / 1e6,
        L2_SECTORS: loads + stores,
        WAVEFRONTS: sum(one.shared_load_wavefronts + one.shared_store_wavefronts for one in counted),
        CONFLICTS: sum(one.shared_load_conflicts + one.shared_store_conflicts for one in counted),
        "tensor instructions": sum(one.matrix_instructions for one in counted),
    }
