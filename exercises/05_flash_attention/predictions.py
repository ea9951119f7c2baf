"""Numbers that a student predicts before they are counted: for V2 first, then for their kernel.

Twenty points in all, and three more for the last one if a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

TARGET = "2 × 8 heads, 512"

PREDICTIONS = (
    Question(
        "v2_shared_bytes",
        "bytes of shared memory in a block of V2",
        Factor(1.02, 1.5),
        Counted("shared_bytes", TARGET, "baseline"),
        points=2,
        why="Every array of its Shared, padding included; the plan for V3 forgot some of them.",
    ),
    Question(
        "v2_bytes_read",
        "bytes that V2 reads from global memory, repeated reads included",
        Factor(1.01, 2.0),
        Counted("bytes_read", TARGET, "baseline"),
        points=2,
        why="Queries once; keys and values once for every 32 rows of queries, 16 times in all.",
    ),
    Question(
        "bytes_read",
        "bytes that your kernel reads from global memory, repeated reads included",
        Factor(1.01, 2.0),
        Counted("bytes_read", TARGET),
        points=3,
        why="Queries once; keys and values once for every tile of queries.",
    ),
    Question(
        "products",
        "matrix instructions of 16 × 8 × 16 in a call",
        Factor(1.02, 2.0),
        Counted("matrix_instructions", TARGET),
        points=3,
        why="2 · S/16 · S/8 · D/16 per head: the tiling does not change it.",
    ),
    Question(
        "shared_bytes",
        "bytes of shared memory in a block",
        Factor(1.0, 2.0),
        Counted("shared_bytes", TARGET),
        points=2,
        why="Stages × keys and values of a tile × 128 bytes; queries and output use the same memory.",
    ),
    Question(
        "bank_conflicts",
        "bank conflicts in a call",
        Factor(1.0, 1.0),
        Counted("bank_conflicts", TARGET),
        points=1,
        why="With the swizzle, eight rows at one column are in eight groups of banks.",
    ),
    Question(
        "blocks",
        "blocks in the launch",
        Factor(1.0, 2.0),
        Counted("blocks", TARGET),
        points=2,
        why="The tiles of queries, or the blocks that run at once, whichever is fewer.",
    ),
    Question(
        "occupancy",
        "occupancy in percent: resident warps, of the 64 that fit on a multiprocessor",
        Factor(1.02, 1.6),
        Counted("occupancy_percent", TARGET),
        points=2,
        why="65,536 registers over those of a block, rounded down, times its warps, over 64.",
    ),
    Question(
        "speedup",
        "modelled speedup over V2",
        Factor(1.15, 2.0),
        Counted("speedup", TARGET),
        points=3,
        why="The same products without the accesses to shared memory around them, and copies overlapped.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over V2",
        Factor(1.15, 1.8),
        Counted(MEASURED_SPEEDUP, TARGET),
        points=3,
        why="The model's number, changed by what it does not see: how well products hide the copies.",
    ),
)
