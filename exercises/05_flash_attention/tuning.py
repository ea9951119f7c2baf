"""The tunables of attention: tiles, warps, stages of copies, blocks that share an SM."""

from __future__ import annotations

from grader.spec import Size
from grader.tuning.spec import Config, Limits, Tuning

from .exercise import BENCH, exercise
from .layout import inputs, reference
from .shapes import bench

_HALF = 2  # bytes
_PIECE = 8  # elements of 16 bytes, that a thread copies at once
_MMA_ROWS = 16
_SWIZZLED_ROWS = 8  # after which the places of pieces repeat

TUNABLES = {
    "BLOCK_M": (64, 128, 192, 256),
    "BLOCK_N": (16, 32, 48, 64, 96, 128),
    "WARPS": (4, 8, 16),
    "STAGES": (2, 3, 4),
    "PERSISTENT": (0, 1),
    "BLOCKS_PER_SM": (1, 2, 3, 4, 5, 6, 8),
}
DEFAULTS = {"BLOCK_M": 64, "BLOCK_N": 32, "WARPS": 4, "STAGES": 2, "PERSISTENT": 1, "BLOCKS_PER_SM": 5}
# Found by searches on an H200, for few heads and many, within the gate's limits and without them.
WORTH = (
    {**DEFAULTS, "STAGES": 4},
    {**DEFAULTS, "BLOCK_N": 64, "STAGES": 3, "BLOCKS_PER_SM": 1},
    {**DEFAULTS, "BLOCK_M": 128, "BLOCK_N": 64, "BLOCKS_PER_SM": 2},
)


def cuts(config: Config) -> dict[int, tuple[int, int]]:
    """Rows of queries and of keys in a tile, by head size. One build has both sizes, and only the number of
    warps is tuned about the larger."""
    return {64: (config["BLOCK_M"], config["BLOCK_N"]), 128: (_MMA_ROWS * config["WARPS"], 32)}


def indivisible(config: Config) -> str | None:
    """What the kernel's static_asserts would refuse, without a compiler."""
    warps = config["WARPS"]
    for head_dim, (rows, keys) in cuts(config).items():
        where = f"with heads of {head_dim}, "
        if rows % (_MMA_ROWS * warps):
            return f"{where}{rows} query rows are not sixteens for each of {warps} warps"
        if keys % _MMA_ROWS:
            return f"{where}{keys} keys are not sixteens"
        at_once, left = divmod(threads(config), head_dim // _PIECE)
        if left or at_once % _SWIZZLED_ROWS:
            return f"{where}{warps} warps do not copy rows in groups of {_SWIZZLED_ROWS}"
        if keys % at_once or rows % at_once:
            return f"{where}{warps} warps copy {at_once} rows at once, by which {keys} keys do not divide"
    return None


def threads(config: Config) -> int:
    return 32 * config["WARPS"]


def shared_bytes(config: Config, size: Size) -> int:
    """Tiles of keys and values for every stage; queries lie in the same place before, and output after."""
    row = _HALF * size.head_dim
    return max(config["STAGES"] * 2 * config["BLOCK_N"] * row, config["BLOCK_M"] * row)


def kernel(size: Size) -> str:
    causal = "true" if size.causal else "false"
    return f"flash_kernel<__half, {size.head_dim}, {causal}, Level<true, true, true>"


tuning = Tuning(
    entry=exercise.entry,
    tunables=TUNABLES,
    defaults=DEFAULTS,
    worth=WORTH,
    indivisible=indivisible,
    threads=threads,
    blocks_per_sm=lambda config: config["BLOCKS_PER_SM"],
    shared_bytes=shared_bytes,
    kernel=kernel,
    gated=Limits(registers=96, shared_bytes=48 * 1024, spills=False),
    inputs=inputs,
    reference=reference,
    compare=exercise.compare,
    cases=(bench(1, 4, 128), *BENCH),
)
