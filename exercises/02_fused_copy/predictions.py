"""Numbers to predict before they are counted: of six launches first, then of the student's one.

Twenty points in all, and three more for the last where a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.prediction import MEASURED_SPEEDUP, Prediction

SMALL, MIDDLE, LARGE = "1 × 64", "32 × 2,048", "256 × 8,192"
ONE_LONG_ROW, ALIGNED_DIFFERENTLY = "1 × 16,384", "128 × 4,097"

PREDICTIONS = (
    Prediction(
        "baseline_launches",
        "kernel launches in a call",
        "launches",
        SMALL,
        side="baseline",
        full=1.0,
        none=1.0,
        points=2,
        why="One for each field: four vectors, the longer one, the page table.",
    ),
    Prediction(
        "baseline_load_sectors",
        "32-byte sectors in each load request of a warp, on average",
        "load_sectors_per_request",
        ALIGNED_DIFFERENTLY,
        side="baseline",
        full=1.06,
        none=2.0,
        points=2,
        why="Units shrink to 4 bytes, and rows of 4,097 elements begin anywhere: a warp's 128 bytes touch "
        "five sectors in seven rows of eight, and four in the other.",
    ),
    Prediction(
        "launches",
        "kernel launches in a call",
        "launches",
        SMALL,
        full=1.0,
        none=1.0,
        points=2,
        why="Blocks of one grid can do different work: the page table and the vectors share a launch.",
    ),
    Prediction(
        "bytes_written",
        "bytes written to the captured buffers",
        "bytes_written",
        MIDDLE,
        full=1.002,
        none=1.5,
        points=3,
        why="4 bytes × (four vectors of batch, one of batch + 1, and batch × columns); no gap is written.",
    ),
    Prediction(
        "load_sectors",
        "32-byte sectors in each load request of a warp, on average",
        "load_sectors_per_request",
        LARGE,
        full=1.05,
        none=3.0,
        points=3,
        why="Units of 16 bytes make a warp's request 512 bytes; those for the vectors are few and smaller.",
    ),
    Prediction(
        "round_trips",
        "trips to memory that wait for each other, on a warp's longest chain",
        "round_trips",
        ONE_LONG_ROW,
        full=1.0,
        none=4.0,
        points=2,
        why="One, where a thread loads all that it will move before it stores any of it, and a long row "
        "takes many blocks.",
    ),
    Prediction(
        "speedup_of_small",
        "modelled speedup over six launches",
        "speedup",
        SMALL,
        full=1.25,
        none=2.5,
        points=3,
        why="Launches are all there is to this shape, and one of six is left.",
    ),
    Prediction(
        "speedup_of_large",
        "modelled speedup over six launches",
        "speedup",
        LARGE,
        full=1.2,
        none=2.0,
        points=3,
        why="Both move the same bytes in units as wide: what is left to win is five launches.",
    ),
    Prediction(
        "measured_speedup",
        "measured speedup over six launches",
        MEASURED_SPEEDUP,
        LARGE,
        full=1.15,
        none=1.6,
        points=3,
        why="Five launches less, over the time of the bytes: a model is near, and a clock is right.",
    ),
)
