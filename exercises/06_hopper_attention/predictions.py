"""Numbers that a student predicts before they are counted: for the baseline first, then for their kernel.

Twenty points in all, and on a GPU three more for a time.
"""

from __future__ import annotations

from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question

TARGET = "2 × 8 heads of 64, 512"

PREDICTIONS = (
    Question(
        "baseline_bytes",
        "bytes that the baseline reads from global memory, repeated reads included",
        Factor(1.01, 2.0),
        Counted("bytes_read", TARGET, "baseline"),
        points=2,
        why="Queries once; keys and values once for every 32 rows of queries, 16 times in all.",
    ),
    Question(
        "baseline_products",
        "matrix instructions of the baseline in a call, of 16 × 8 × 16 each",
        Factor(1.02, 2.0),
        Counted("matrix_instructions", TARGET, "baseline"),
        points=2,
        why="2 · S/16 · S/8 · D/16 per head, each by one warp.",
    ),
    Question(
        "bytes",
        "bytes that your loads and bulk copies move, bulk stores included",
        Factor(1.01, 2.0),
        Counted("bytes_read", TARGET),
        points=4,
        why="Queries once; keys and values once for every tile of queries; the output once, by bulk stores.",
    ),
    Question(
        "products",
        "matrix instructions of your kernel in a call; a wgmma counts four times",
        Factor(1.02, 2.0),
        Counted("matrix_instructions", TARGET),
        points=4,
        why="For each tile of queries and of keys: D/16 products for the scores and keys/16 for the output.",
    ),
    Question(
        "shared_bytes",
        "bytes of shared memory in a block",
        Factor(1.01, 1.5),
        Counted("shared_bytes", TARGET),
        points=3,
        why="Queries, output, and keys and values of every stage; a barrier is 8 bytes.",
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
        "threads",
        "threads of a block",
        Factor(1.0, 2.0),
        Counted("threads_per_block", TARGET),
        points=1,
        why="A warpgroup of 128 threads for the producer, and one for each consumer.",
    ),
    Question(
        "bank_conflicts",
        "bank conflicts of your own loads and stores in a call",
        Factor(1.0, 1.0),
        Counted("bank_conflicts", TARGET),
        points=1,
        why="Only the output is stored by threads; with the swizzle its eight rows are in all 32 banks.",
    ),
    Question(
        "occupancy",
        "occupancy in percent: resident warps, of the 64 that fit on a multiprocessor",
        Factor(1.02, 1.6),
        Counted("occupancy_percent", TARGET),
        points=1,
        why="Blocks that fit by registers and by shared memory, times their warps, over 64.",
    ),
    Question(
        "measured_speedup",
        "measured speedup over the baseline",
        Factor(1.15, 1.8),
        Counted(MEASURED_SPEEDUP, TARGET),
        points=3,
        why="The model's number, changed by what it does not see.",
    ),
)
