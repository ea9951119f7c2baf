"""02 Fused copy: update everything that a captured decoding step reads, in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exact, Exercise, HostTime, Points, Size, Speedup
from grader.spec.mechanisms import Launches, NoSpills, RoundTripsAtMost, SectorsAtMost
from grader.spec.random_inputs import Random

from .alternatives import ALTERNATIVES, CONTIGUOUS, FOREACH, SIX_COPIES, YARDSTICKS
from .layout import FIELDS, VECTORS, inputs, length, reference, replay
from .mistakes import known_mistakes
from .predictions import PREDICTIONS
from .steps import SIX_EDGES, STEPS

CAPTURED_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 160, 256)

CASES = (  # the smallest first: a student sees its result first
    replay(4, 16, name="a batch of 4"),
    replay(0, 16, name="an empty batch"),
    replay(5, 0, name="no columns"),
    replay(3, 1, name="one column"),
    replay(7, 257, name="odd columns"),
    replay(6, 48, name="no gaps between rows", captured_gap=0),
    replay(9, 40, name="gaps in the source too", source_gap=24),
    replay(5, 130, name="odd strides", source_gap=1, captured_gap=3),
    replay(6, 45, name="aligned rows with an odd tail", source_gap=3, captured_gap=19),
    replay(2, 61, name="two rows", source_gap=2, captured_gap=1),
    SIX_EDGES,
    replay(5, 203, name="both sides shifted by one element", shift=1, captured_shift=1),
    replay(6, 77, name="sides shifted differently", shift=3, captured_shift=1),
    replay(4, 16, name="rows too narrow", refused=1),
    replay(257, 31, name="one request more than 256"),
    *(replay(batch, 64, name=f"captured for {batch}") for batch in CAPTURED_SIZES),
    replay(2, 16_384, name="the longest rows"),
    replay(800, 2100, name="800 requests, odd rows of two blocks", captured_gap=63),
    replay(3, 64, name="captured rows past 2^31 elements", captured_gap=0, captured_apart=1 << 30, spare=0),
    replay(3, 90, name="source rows past 2^31 elements", source_apart=1 << 30),
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
    """Random shapes for each grading, odd tails and strides included, small enough to check quickly."""

    def draw(number: int) -> Case:
        batch = rng.choice((1, 2, 3, 7, 17, 64, 129, 250))
        columns = rng.number(1, 20_000 // batch)
        to_a_unit = -columns % 4  # then rows are aligned, whatever their tails
        return replay(
            batch,
            columns,
            name=f"hidden {number}",
            source_gap=rng.choice((0, 0, 0, 1, 4, 30, to_a_unit, to_a_unit)),
            captured_gap=rng.choice((0, 1, 4, 64, 95, 512, to_a_unit, 64 + to_a_unit)),
            shift=rng.choice((0, 0, 1, 2, 3)),
            captured_shift=rng.choice((0, 0, 1, 2, 3)),
            spare=rng.number(1, 9),
        )

    return [draw(number) for number in range(1, 9)]


def copied(size: Size) -> int:
    """How many elements the call copies."""
    return sum(length(size, field) for field in VECTORS) + size.batch * size.columns


def bytes_moved(size: Size) -> int:
    return 2 * 4 * copied(size)


def most_sectors(size: Size) -> int:
    """32-byte sectors, read and written. Each row and each vector may begin and end inside a sector.
    If the sides differ in alignment, a warp's 128 bytes touch one sector more."""
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
    blocks_share="the longest rows",
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
        # Plans for this kernel promise a fifth less time; half the time is possible at every shape.
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
        "Step 4: "
        "the captured page table is wider than the batch's, so row r starts at r * destination_row_stride "
        "on one side and at r * source_row_stride on the other. Let x walk along a row and y over rows, for "
        "blocks and for threads alike: no thread has to divide. Load all that a thread moves before it "
        "stores any of it: the compiler must assume that the two sides overlap, so it keeps your order.",
        "Steps 5 and 6: "
        "a uint4 needs an address that is a multiple of 16. Skipping the same few elements brings both "
        "sides of a row to such an address only if both are equally far from one, in every row. Two "
        "pointers and two strides decide that, so the host can decide it once. Copy the elements before "
        "the first unit and after the last one by one.",
        "Step 7: "
        "launches cost the time, not bytes: each of the six takes at least 0.6 µs in a graph, even if it "
        "copies nothing. One kernel can do different work in different blocks: look at blockIdx.y first. "
        "The first blocks along y take the vectors: a thread takes the same element of all five. The other "
        "blocks take rows of the page table.",
    ),
    alternatives=ALTERNATIVES,
    yardsticks=YARDSTICKS,
    predictions=PREDICTIONS,
)
