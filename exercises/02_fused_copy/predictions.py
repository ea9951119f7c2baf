"""Numbers that a student predicts before they are counted: for six launches first, then for their one.

Twenty points in all, and three more for the last one if a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

SMALL, MIDDLE, LARGE = "1 × 64", "32 × 2,048", "256 × 8,192"
ONE_LONG_ROW, ALIGNED_DIFFERENTLY = "1 × 16,384", "128 × 4,097"

PREDICTIONS = (
    Question(
        "baseline_launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", SMALL, "baseline"),
        points=2,
        why="One for each field: four vectors, the longer one, the page table.",
    ),
    Question(
        "baseline_load_sectors",
        "32-byte sectors in each load request of a warp, on average",
        Factor(1.06, 2.0),
        Counted("load_sectors_per_request", ALIGNED_DIFFERENTLY, "baseline"),
        points=2,
        why="Units shrink to 4 bytes, and rows of 4,097 elements begin anywhere: a warp's 128 bytes touch "
        "five sectors in seven rows of eight, and four in the other.",
    ),
    Question(
        "launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", SMALL),
        points=2,
        why="Blocks of one grid can do different work: the page table and the vectors share a launch.",
    ),
    Question(
        "bytes_written",
        "bytes written to the captured buffers",
        Factor(1.002, 1.5),
        Counted("bytes_written", MIDDLE),
        points=3,
        why="4 bytes × (four vectors of batch, one of batch + 1, and batch × columns); no gap is written.",
    ),
    Question(
        "load_sectors",
        "32-byte sectors in each load request of a warp, on average",
        Factor(1.05, 3.0),
        Counted("load_sectors_per_request", LARGE),
        points=3,
        why="With 16-byte units a warp's request is 512 bytes; requests for the vectors are few and smaller.",
    ),
    Question(
        "round_trips",
        "round trips to memory that wait for each other, on a warp's longest chain",
        Factor(1.0, 4.0),
        Counted("round_trips", ONE_LONG_ROW),
        points=2,
        why="One, if a thread loads all that it moves before it stores any of it, and many blocks share a "
        "long row.",
    ),
    Question(
        "speedup_of_small",
        "modelled speedup over six launches",
        Factor(1.25, 2.5),
        Counted("speedup", SMALL),
        points=3,
        why="Launches take all the time at this shape, and one of six is left.",
    ),
    Question(
        "speedup_of_large",
        "modelled speedup over six launches",
        Factor(1.2, 2.0),
        Counted("speedup", LARGE),
        points=3,
        why="Both move the same bytes in equally wide units: five launches are all that can be saved.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over six launches",
        Factor(1.15, 1.6),
        Counted(MEASURED_SPEEDUP, LARGE),
        points=3,
        why="Five launches fewer, beside the time for the bytes: the model is close, the clock decides.",
    ),
)
