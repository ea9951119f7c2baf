"""Numbers that a student predicts before they are counted: for the INT8 baseline, then for their kernel.

Twenty points in all, and three more for the last one if a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

QUARTER, HALF = "1 × 32 heads, 8k, budget 0.25", "1 × 32 heads, 8k, budget 0.50"
EIGHT = "8 × 32 heads, 16k, budget 0.25"  # too large for the virtual GPU
# The model samples blocks, other ones in check() than here, so two speedups may differ by 15 %.
_MODELLED = 1.2

PREDICTIONS = (
    Question(
        "int8_bytes",
        "bytes that the baseline reads, each 32-byte sector counted once",
        Factor(1.01, 2.0),
        Counted("first_bytes_read", QUARTER, "baseline"),
        points=2,
        why="8,192 tokens × 32 heads × 264 bytes: 128 for a key, 128 for a value, and two scales of 4.",
    ),
    Question(
        "mix_bytes",
        "bytes that your attention reads, each 32-byte sector counted once",
        Factor(1.05, 1.6),
        Counted("first_bytes_read", QUARTER),
        points=3,
        why="72, 104, 136 or 264 bytes per head and token, by width; queries and parts are small.",
    ),
    Question(
        "launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", QUARTER),
        points=2,
        why="All buckets go in one launch; a merge in the last block needs no second one.",
    ),
    Question(
        "async_sectors",
        "32-byte sectors in each cp.async request of a warp (0 without cp.async)",
        Factor(1.1, 4.0),
        Counted("async_sectors_per_request", QUARTER),
        points=2,
        why="32 lanes copy 16 bytes each, side by side; requests for scales and tails have fewer lanes.",
    ),
    Question(
        "shared_bytes",
        "bytes of shared memory in a block",
        Factor(1.02, 1.5),
        Counted("shared_bytes", QUARTER),
        points=2,
        why="The warps' stages, each warp's data of its keys, the planes of the query, sums of the rows.",
    ),
    Question(
        "occupancy",
        "occupancy in percent: resident warps, of the 64 that fit on a multiprocessor",
        Factor(1.05, 2.0),
        Counted("occupancy_percent", QUARTER),
        points=2,
        why="Blocks that fit by registers or by shared memory, whichever is fewer, times warps, over 64.",
    ),
    Question(
        "products",
        "matrix instructions in a call (0 with __dp4a alone)",
        Factor(1.05, 2.0),
        Counted("matrix_instructions", QUARTER),
        points=2,
        why="Count, for every 16 keys of a head, those for the scores, for the values and for the sums.",
    ),
    Question(
        "speedup",
        "modelled speedup over the INT8 baseline at a budget of 0.25",
        Factor(_MODELLED, 1.6),
        Counted("speedup", QUARTER),
        points=3,
        why="Less than the bound by bytes: a block's beginning and the merge do not shrink with them.",
    ),
    Question(
        "speedup_of_half",
        "modelled speedup over the INT8 baseline at a budget of 0.50",
        Factor(_MODELLED, 1.6),
        Counted("speedup", HALF),
        points=2,
        why="Nearly the same bytes: the gain here comes from the kernel, not from the cache.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over the INT8 baseline, eight sequences of 16k at a budget of 0.25",
        Factor(1.1, 1.5),
        Counted(MEASURED_SPEEDUP, EIGHT),
        points=3,
        why="With this many keys a block's beginning and end hardly count: near the bound by bytes.",
    ),
)
