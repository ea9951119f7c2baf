"""Numbers that a student predicts before they are counted: for the baseline first, then for their kernel.

Twenty points in all, and three more for the last one if a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

ONE, MANY = "1 token, 8 × 128", "4,096 tokens, 8 × 128"

PREDICTIONS = (
    Question(
        "baseline_store_sectors",
        "32-byte sectors in each store request of a warp",
        Factor(1.0, 4.0),
        Counted("store_sectors_per_request", MANY, "baseline"),
        points=2,
        why="32 lanes store 16 bytes each, side by side: 512 bytes.",
    ),
    Question(
        "baseline_round_trips",
        "round trips to memory that wait for each other, on a warp's longest chain",
        Factor(1.15, 3.0),
        Counted("round_trips", ONE, "baseline"),
        points=2,
        why="The page number first, then four steps for K and four for V, each behind the store before it.",
    ),
    Question(
        "launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", ONE),
        points=2,
        why="One launch stores K and V: each further launch costs more than storing one token.",
    ),
    Question(
        "async_sectors",
        "32-byte sectors in each cp.async request of a warp",
        Factor(1.0, 4.0),
        Counted("async_sectors_per_request", MANY),
        points=2,
        why="A lane copies at most 16 bytes; neighbouring lanes with neighbouring units fill sectors.",
    ),
    Question(
        "bytes_written",
        "bytes written to the cache",
        Factor(1.01, 2.0),
        Counted("bytes_written", MANY),
        points=2,
        why="Tokens × heads × head_dim × 2 bytes, for K and again for V.",
    ),
    Question(
        "shared_bytes",
        "bytes of shared memory in a block",
        Factor(1.0, 4.0),
        Counted("shared_bytes", MANY),
        points=2,
        why="Every byte in flight needs a place: threads × units × bytes per unit, for K and for V.",
    ),
    Question(
        "occupancy",
        "occupancy in percent: resident warps, of the 64 that fit on a multiprocessor",
        Factor(1.05, 2.0),
        Counted("occupancy_percent", MANY),
        points=2,
        why="The scarcest of threads, registers, shared memory and blocks decides; profile() names it.",
    ),
    Question(
        "speedup_of_one",
        "modelled speedup over the baseline at one token",
        Factor(1.15, 2.0),
        Counted("speedup", ONE),
        points=3,
        why="With one token all time is launch and waiting: count your round trips, against nine.",
    ),
    Question(
        "speedup_of_many",
        "modelled speedup over the baseline at 4,096 tokens",
        Factor(1.1, 1.6),
        Counted("speedup", MANY),
        points=3,
        why="With many tokens other warps run while one waits, and both kernels move the same bytes.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over the baseline at one token",
        Factor(1.15, 1.6),
        Counted(MEASURED_SPEEDUP, ONE),
        points=3,
        why="The model counts the round trips; a GPU adds a fixed cost per launch.",
    ),
)
