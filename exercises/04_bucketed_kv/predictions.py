"""Numbers to predict before they are counted: of the uniform INT8 baseline first, then of the student's own.

Twenty points in all, and three more for the last where a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.prediction import MEASURED_SPEEDUP, Prediction

QUARTER, HALF = "1 × 32 heads, 8k, budget 0.25", "1 × 32 heads, 8k, budget 0.50"
EIGHT = "8 × 32 heads, 16k, budget 0.25"  # too large for the virtual GPU
# The model looks at some of the blocks, others in check() than here, and a speedup may be 15 % apart by that.
_MODELLED = 1.2

PREDICTIONS = (
    Prediction(
        "int8_bytes",
        "bytes that the baseline reads, each 32-byte sector counted once",
        "first_bytes_read",
        QUARTER,
        side="baseline",
        full=1.01,
        none=2.0,
        points=2,
        why="8,192 tokens × 32 heads × 264 bytes: 128 for a key, 128 for a value, and two scales of 4.",
    ),
    Prediction(
        "mix_bytes",
        "bytes that your attention reads, each 32-byte sector counted once",
        "first_bytes_read",
        QUARTER,
        full=1.05,
        none=1.6,
        points=3,
        why="72, 104, 136 or 264 bytes a head and token, by width; queries and parts are small change.",
    ),
    Prediction(
        "launches",
        "kernel launches in a call",
        "launches",
        QUARTER,
        full=1.0,
        none=1.0,
        points=2,
        why="All buckets go in one launch; a merge in the last block needs no second one.",
    ),
    Prediction(
        "async_sectors",
        "32-byte sectors in each cp.async request of a warp (0 without cp.async)",
        "async_sectors_per_request",
        QUARTER,
        full=1.1,
        none=4.0,
        points=2,
        why="32 lanes copy 16 bytes each, side by side; requests for scales and tails have fewer lanes.",
    ),
    Prediction(
        "shared_bytes",
        "bytes of shared memory in a block",
        "shared_bytes",
        QUARTER,
        full=1.02,
        none=1.5,
        points=2,
        why="The warps' stages, what each keeps of its keys, the planes of the query, sums of the rows.",
    ),
    Prediction(
        "occupancy",
        "occupancy in percent: resident warps of the 64 that a multiprocessor has room for",
        "occupancy_percent",
        QUARTER,
        full=1.05,
        none=2.0,
        points=2,
        why="Blocks that fit by registers and by shared memory, the lesser of the two, times warps, over 64.",
    ),
    Prediction(
        "products",
        "matrix instructions in a call (0 with __dp4a alone)",
        "matrix_instructions",
        QUARTER,
        full=1.05,
        none=2.0,
        points=2,
        why="For every 16 keys of a head: so many for the scores, so many for the values, and for the sums.",
    ),
    Prediction(
        "speedup",
        "modelled speedup over the INT8 baseline at a budget of 0.25",
        "speedup",
        QUARTER,
        full=_MODELLED,
        none=1.6,
        points=3,
        why="The bound by bytes, less what does not shrink with them: a block's beginning, and the merge.",
    ),
    Prediction(
        "speedup_of_half",
        "modelled speedup over the INT8 baseline at a budget of 0.50",
        "speedup",
        HALF,
        full=_MODELLED,
        none=1.6,
        points=2,
        why="Nearly the same bytes: what is gained here is gained by the kernel, not by the cache.",
    ),
    Prediction(
        "measured_speedup",
        "measured speedup over the INT8 baseline, eight sequences of 16k at a budget of 0.25",
        MEASURED_SPEEDUP,
        EIGHT,
        full=1.1,
        none=1.5,
        points=3,
        why="With this many keys a block's beginning and end hardly count: near the bound by bytes.",
    ),
)
