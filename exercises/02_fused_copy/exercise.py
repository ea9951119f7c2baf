"""02 Fused copy: everything a captured decoding step reads, brought up to date in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exact, Exercise, HostTime, Points, Size, Speedup
from grader.spec.mechanisms import Launches, NoSpills, RoundTripsAtMost, SectorsAtMost
from grader.spec.random_inputs import Random

from .alternatives import ALTERNATIVES, CONTIGUOUS, FOREACH, SIX_COPIES, YARDSTICKS
from .layout import FIELDS, VECTORS, inputs, length, reference, replay
from .mistakes import known_mistakes
from .predictions import PREDICTIONS
from .steps import STEPS

CAPTURED_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 160, 256)

CASES = (  # the smallest first: it is the first answer a student gets
    replay(4, 16, name="a batch of 4"),
    replay(0, 16, name="an empty batch"),
    replay(5, 0, name="no columns"),
    replay(3, 1, name="one column"),
    replay(7, 257, name="odd columns"),
    replay(6, 48, name="no gaps between rows", captured_gap=0),
    replay(9, 40, name="gaps in the source too", source_gap=24),
    replay(5, 130, name="odd strides", source_gap=1, captured_gap=3),
    replay(5, 203, name="both sides shifted by one element", shift=1, captured_shift=1),
    replay(6, 77, name="sides shifted differently", shift=3, captured_shift=1),
    replay(4, 16, name="rows too narrow", refused=1),
    replay(257, 31, name="one request more than 256"),
    *(replay(batch, 64, name=f"captured for {batch}") for batch in CAPTURED_SIZES),
    replay(2, 16_384, name="the longest rows"),
    replay(3, 64, name="rows past 2^31 elements", captured_gap=1 << 30, spare=0, gpu_only=True),
)

# The captured table is as wide as the longest sequence allowed: here 1,024 more than this batch needs.
_WIDER = 1024
TARGET_SIZES = ((1, 64), (8, 512), (32, 2048), (128, 4096), (256, 8192), (256, 16_384))
BENCH = (
    *(replay(batch, columns, captured_gap=_WIDER) for batch, columns in TARGET_SIZES),
    replay(256, 64, captured_gap=_WIDER),
    replay(1, 16_384, captured_gap=_WIDER),
    replay(128, 4097, captured_gap=_WIDER - 1),  # rows of the two sides are aligned differently
)
EVERY_SHAPE = tuple(case.name for case in BENCH)
LARGE_SHAPES = tuple(replay(batch, columns).name for batch, columns in TARGET_SIZES[3:])


def hidden(rng: Random) -> Sequence[Case]:
    """Shapes drawn anew for every grading, odd tails and strides included, each small enough to check."""

    def draw(number: int) -> Case:
        batch = rng.choice((1, 2, 3, 7, 17, 64, 129, 250))
        return replay(
            batch,
            rng.number(1, 20_000 // batch),
            name=f"hidden {number}",
            source_gap=rng.choice((0, 0, 0, 1, 4, 30)),
            captured_gap=rng.choice((0, 1, 4, 64, 95, 512)),
            shift=rng.choice((0, 0, 1, 2, 3)),
            captured_shift=rng.choice((0, 0, 1, 2, 3)),
            spare=rng.number(1, 9),
        )

    return [draw(number) for number in range(1, 9)]


def copied(size: Size) -> int:
    """Elements that are copied."""
    return sum(length(size, field) for field in VECTORS) + size.batch * size.columns


def bytes_moved(size: Size) -> int:
    return 2 * 4 * copied(size)


def most_sectors(size: Size) -> int:
    """Of 32 bytes, read and written: whole ones, and each row and each vector may begin and end inside one.
    Where the sides differ in alignment a warp's 128 bytes straddle a sector more."""
    straddling = 1 + (size.columns % 4 != 0) * 0.25
    return int(bytes_moved(size) / 32 * straddling) + 4 * (size.batch + len(FIELDS)) + size.batch


exercise = Exercise(
    title="Fused copy: what a CUDA graph reads, in one launch",
    entry="fused_copy_replay_data",
    inputs=inputs,
    reference=reference,
    compare=Exact(),
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    mechanisms=(Launches(exactly=1), NoSpills()),
    mechanism_case="captured for 64",
    targets=(
        Speedup(
            cases=EVERY_SHAPE,
            passing=1.25,
            full=2.0,
            protocol="graph",
            share=0.3,
            structure=(
                Launches(exactly=1),
                RoundTripsAtMost(2),
                SectorsAtMost(most_sectors),
            ),
        ),
        # A fifth less time is what plans for this kernel promise; half of it, at every shape, is possible.
        Speedup(
            cases=EVERY_SHAPE,
            passing=1.25,
            full=2.0,
            each=True,
            protocol="graph",
            against=SIX_COPIES,
            share=0.4,
        ),
        Speedup(cases=EVERY_SHAPE, passing=1.0, full=1.0, protocol="graph", against=FOREACH, share=0.1),
        Speedup(cases=LARGE_SHAPES, passing=1.0, full=1.0, protocol="graph", against=CONTIGUOUS, share=0.1),
        HostTime(against=SIX_COPIES, cases=EVERY_SHAPE, share=0.1),
    ),
    points=Points(correct=35, clean=10, mechanism=10, speed=25),
    steps=STEPS,
    known_mistakes=known_mistakes(FIELDS),
    hints=(
        "What costs time is not the bytes but the launches: each of the six kernels takes about a "
        "microsecond in a graph, however little it copies. One kernel can do different work in different "
        "blocks: let it look at blockIdx.y first. The first blocks along y take the vectors, a thread the "
        "same element of all five; the others take rows of the page table.",
        "The captured page table is wider than the batch's, so row r starts at r * destination_row_stride "
        "on one side and at r * source_row_stride on the other. Let x walk along a row and y over rows, for "
        "blocks and for threads alike: no thread has to divide. Load everything you will move before you "
        "store any of it: as far as the compiler knows the two sides may overlap, and it keeps the order "
        "that you wrote.",
        "A uint4 moves 16 bytes at an address that 16 divides. Both sides of a row can be brought there by "
        "the same few elements only if they are equally far from such an address, in every row: that is a "
        "question about the two pointers and the two strides, which the host can answer once. The elements "
        "before the first unit and behind the last are yours to copy one by one.",
    ),
    alternatives=ALTERNATIVES,
    yardsticks=YARDSTICKS,
    predictions=PREDICTIONS,
)
