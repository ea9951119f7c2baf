"""Numbers to predict before they are counted: of a launch for each copy, then of one launch for all.

Twenty points in all, and three more for the last where a GPU times the kernel.
"""

from __future__ import annotations

from grader.spec.prediction import MEASURED_SPEEDUP, Prediction

SMALLEST, STEP, LARGE = "decode, 1 × 1,024", "decode, 32 × 2,048", "decode, 128 × 8,192"
TINY, DENSE = "7 dense copies of 32", "7 dense copies of 65,536"

PREDICTIONS = (
    Prediction(
        "baseline_launches",
        "kernel launches in a call",
        "launches",
        STEP,
        side="baseline",
        full=1.0,
        none=1.0,
        points=2,
        why="One for each field that the step has: six, and the optional page table.",
    ),
    Prediction(
        "launches",
        "kernel launches in a call",
        "launches",
        STEP,
        full=1.0,
        none=1.0,
        points=2,
        why="The plan of all copies travels as a parameter of one launch.",
    ),
    Prediction(
        "bytes_written",
        "bytes written to the captured tensors",
        "bytes_written",
        STEP,
        full=1.002,
        none=1.5,
        points=3,
        why="4 bytes × (five vectors of 32, 32 rows of 2,048, and 32 rows of one column a page of 64).",
    ),
    Prediction(
        "store_sectors",
        "32-byte sectors in each store request of a warp, on average",
        "store_sectors_per_request",
        DENSE,
        full=1.02,
        none=3.0,
        points=3,
        why="Dense on both sides and aligned: units of 16 bytes, and 32 lanes store 512 bytes.",
    ),
    Prediction(
        "blocks",
        "blocks in the grid",
        "blocks",
        TINY,
        full=1.0,
        none=3.0,
        points=2,
        why="A tiny copy takes one block, and seven of them seven, all at once.",
    ),
    Prediction(
        "round_trips",
        "trips to memory that wait for each other, on a warp's longest chain",
        "round_trips",
        STEP,
        full=1.0,
        none=3.0,
        points=2,
        why="The plan comes with the launch; what is left is one load in front of each store.",
    ),
    Prediction(
        "speedup_of_smallest",
        "modelled speedup over a launch for each copy",
        "speedup",
        SMALLEST,
        full=1.25,
        none=2.5,
        points=3,
        why="Seven launches one after the other become one, and the copies wait for memory together.",
    ),
    Prediction(
        "speedup_of_large",
        "modelled speedup over a launch for each copy",
        "speedup",
        LARGE,
        full=1.2,
        none=2.0,
        points=3,
        why="One copy has nearly all the bytes and takes as long in either; six launches are gone.",
    ),
    Prediction(
        "measured_speedup",
        "measured speedup over a launch for each copy",
        MEASURED_SPEEDUP,
        LARGE,
        full=1.15,
        none=1.6,
        points=3,
        why="What six launches take, over the time of the one copy that has nearly all the bytes.",
    ),
)
