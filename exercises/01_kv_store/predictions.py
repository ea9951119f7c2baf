"""Numbers to predict before they are counted: of the baseline first, then of the student's own kernel.

Twenty points in all, and three more for the last where a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.prediction import MEASURED_SPEEDUP, Prediction

ONE, MANY = "1 token, 8 × 128", "4,096 tokens, 8 × 128"

PREDICTIONS = (
    Prediction(
        "baseline_store_sectors",
        "32-byte sectors in each store request of a warp",
        "store_sectors_per_request",
        MANY,
        side="baseline",
        full=1.0,
        none=4.0,
        points=2,
        why="32 lanes store 16 bytes each, side by side: 512 bytes.",
    ),
    Prediction(
        "baseline_round_trips",
        "trips to memory that wait for each other, on a warp's longest chain",
        "round_trips",
        ONE,
        side="baseline",
        full=1.15,
        none=3.0,
        points=2,
        why="The page number first, then four steps for K and four for V, each behind the store before it.",
    ),
    Prediction(
        "launches",
        "kernel launches in a call",
        "launches",
        ONE,
        full=1.0,
        none=1.0,
        points=2,
        why="K and V go in one launch: each further one costs more than the whole store of a token.",
    ),
    Prediction(
        "async_sectors",
        "32-byte sectors in each cp.async request of a warp",
        "async_sectors_per_request",
        MANY,
        full=1.0,
        none=4.0,
        points=2,
        why="A lane copies at most 16 bytes; lanes fill whole sectors when neighbours copy neighbours.",
    ),
    Prediction(
        "bytes_written",
        "bytes written to the cache",
        "bytes_written",
        MANY,
        full=1.01,
        none=2.0,
        points=2,
        why="Tokens × heads × head_dim × 2 bytes, for K and again for V.",
    ),
    Prediction(
        "shared_bytes",
        "bytes of shared memory in a block",
        "shared_bytes",
        MANY,
        full=1.0,
        none=4.0,
        points=2,
        why="Every byte on its way needs its place: threads × units × bytes of a unit, for K and for V.",
    ),
    Prediction(
        "occupancy",
        "occupancy in percent: resident warps of the 64 that a multiprocessor has room for",
        "occupancy_percent",
        MANY,
        full=1.05,
        none=2.0,
        points=2,
        why="The scarcest of threads, registers, shared memory and blocks decides; profile() names it.",
    ),
    Prediction(
        "speedup_of_one",
        "modelled speedup over the baseline at one token",
        "speedup",
        ONE,
        full=1.15,
        none=2.0,
        points=3,
        why="With one token all time is launch and waiting: trips that are left over the baseline's nine.",
    ),
    Prediction(
        "speedup_of_many",
        "modelled speedup over the baseline at 4,096 tokens",
        "speedup",
        MANY,
        full=1.1,
        none=1.6,
        points=3,
        why="With many tokens other warps fill the waiting, and both kernels move the same bytes.",
    ),
    Prediction(
        "measured_speedup",
        "measured speedup over the baseline at one token",
        MEASURED_SPEEDUP,
        ONE,
        full=1.15,
        none=1.6,
        points=3,
        why="The model knows the trips; a GPU adds what every launch costs, whatever the kernel does.",
    ),
)
