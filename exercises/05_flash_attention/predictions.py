"""Numbers to predict before they are counted: of V2 first, then of the student's own kernel.

Twenty points in all, and three more for the last where a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.prediction import MEASURED_SPEEDUP, Prediction

TARGET = "2 × 8 heads, 512"

PREDICTIONS = (
    Prediction(
        "v2_shared_bytes",
        "bytes of shared memory in a block of V2",
        "shared_bytes",
        TARGET,
        side="baseline",
        full=1.02,
        none=1.5,
        points=2,
        why="Every array of its Shared, padding included; the plan for V3 forgot some of them.",
    ),
    Prediction(
        "v2_bytes_read",
        "bytes that V2 reads from global memory, every time counted",
        "bytes_read",
        TARGET,
        side="baseline",
        full=1.01,
        none=2.0,
        points=2,
        why="Queries once; keys and values once for every 32 rows of queries, 16 times in all.",
    ),
    Prediction(
        "bytes_read",
        "bytes that your kernel reads from global memory, every time counted",
        "bytes_read",
        TARGET,
        full=1.01,
        none=2.0,
        points=3,
        why="Queries once; keys and values once for every tile of queries.",
    ),
    Prediction(
        "products",
        "matrix instructions of 16 × 8 × 16 in a call",
        "matrix_instructions",
        TARGET,
        full=1.02,
        none=2.0,
        points=3,
        why="2 · S/16 · S/8 · D/16 a head: the tiling does not change it.",
    ),
    Prediction(
        "shared_bytes",
        "bytes of shared memory in a block",
        "shared_bytes",
        TARGET,
        full=1.0,
        none=2.0,
        points=2,
        why="Stages × keys and values of a tile × 128 bytes; queries and output lie in the same place.",
    ),
    Prediction(
        "bank_conflicts",
        "bank conflicts in a call",
        "bank_conflicts",
        TARGET,
        full=1.0,
        none=1.0,
        points=1,
        why="Eight rows at one column are in eight groups of banks, once they are swizzled.",
    ),
    Prediction(
        "blocks",
        "blocks in the launch",
        "blocks",
        TARGET,
        full=1.0,
        none=2.0,
        points=2,
        why="The lesser of the tiles of queries and of the blocks that run at once.",
    ),
    Prediction(
        "occupancy",
        "occupancy in percent: resident warps of the 64 that a multiprocessor has room for",
        "occupancy_percent",
        TARGET,
        full=1.02,
        none=1.6,
        points=2,
        why="65,536 registers over those of a block, rounded down, times its warps, over 64.",
    ),
    Prediction(
        "speedup",
        "modelled speedup over V2",
        "speedup",
        TARGET,
        full=1.15,
        none=2.0,
        points=3,
        why="The same products without the trips to shared memory around them, and copies behind them.",
    ),
    Prediction(
        "measured_speedup",
        "measured speedup over V2",
        MEASURED_SPEEDUP,
        TARGET,
        full=1.15,
        none=1.8,
        points=3,
        why="What the model says, less what it does not see: how well copies hide behind products.",
    ),
)
