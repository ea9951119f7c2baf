"""Numbers that a student predicts before they are counted: for one launch per copy, then for one launch.

Twenty points in all, and three more for the last one if a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

SMALLEST, STEP, LARGE = "decode, 1 × 1,024", "decode, 32 × 2,048", "decode, 128 × 8,192"
TINY, DENSE = "7 dense copies of 32", "7 dense copies of 65,536"

PREDICTIONS = (
    Question(
        "baseline_launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", STEP, "baseline"),
        points=2,
        why="One for each field that the step has: six, and the optional page table.",
    ),
    Question(
        "launches",
        "kernel launches in a call",
        Factor(1.0, 1.0),
        Counted("launches", STEP),
        points=2,
        why="The plan of all copies is a parameter of one launch.",
    ),
    Question(
        "bytes_written",
        "bytes written to the captured tensors",
        Factor(1.002, 1.5),
        Counted("bytes_written", STEP),
        points=3,
        why="4 bytes × (five vectors of 32, 32 rows of 2,048, and 32 rows of one column per page of 64).",
    ),
    Question(
        "store_sectors",
        "32-byte sectors in each store request of a warp, on average",
        Factor(1.02, 3.0),
        Counted("store_sectors_per_request", DENSE),
        points=3,
        why="Dense on both sides and aligned: units of 16 bytes, and 32 lanes store 512 bytes.",
    ),
    Question(
        "blocks",
        "blocks in the grid",
        Factor(1.0, 3.0),
        Counted("blocks", TINY),
        points=2,
        why="A tiny copy takes one block, and seven of them seven, all at once.",
    ),
    Question(
        "round_trips",
        "round trips to memory that wait for each other, on a warp's longest chain",
        Factor(1.0, 3.0),
        Counted("round_trips", STEP),
        points=2,
        why="The plan comes with the launch; one load before each store is left.",
    ),
    Question(
        "speedup_of_smallest",
        "modelled speedup over a launch for each copy",
        Factor(1.25, 2.5),
        Counted("speedup", SMALLEST),
        points=3,
        why="Seven launches one after the other become one, and the copies wait for memory together.",
    ),
    Question(
        "speedup_of_large",
        "modelled speedup over a launch for each copy",
        Factor(1.2, 2.0),
        Counted("speedup", LARGE),
        points=3,
        why="One copy has nearly all the bytes and takes as long in both; six launches are gone.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over a launch for each copy",
        Factor(1.15, 1.6),
        Counted(MEASURED_SPEEDUP, LARGE),
        points=3,
        why="Six launches fewer, beside the time of the one copy that has nearly all the bytes.",
    ),
)
