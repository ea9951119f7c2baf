"""Steps to the whole copy: one vector, two, all five, then the page table: by element, in 16-byte units where
every row is aligned, and wherever its rows begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.spec import Call, Case, Exact, Mechanism, Size, Step
from grader.spec.mechanisms import Launches, RoundTripsAtMost
from grader.spec.random_inputs import Random

from .layout import VECTORS, call, reference, replay
from .mechanisms import WideUnits
from .mistakes import known_mistakes

VECTOR_CASES = (
    replay(4, 1, name="a batch of 4"),
    replay(1, 1, name="one request"),
    replay(0, 1, name="an empty batch"),
    replay(33, 1, name="33 requests"),
    replay(256, 1, name="256 requests"),
    replay(257, 1, name="257 requests"),
    replay(1000, 1, name="1,000 requests"),
)

ROW_CASES = (
    replay(4, 16, name="4 rows of 16"),
    replay(1, 1, name="one element"),
    replay(8, 0, name="no columns"),
    replay(0, 8, name="no rows"),
    replay(5, 33, name="odd columns"),
    replay(3, 200, name="no gaps on either side", captured_gap=0),
    replay(6, 40, name="gaps in the source too", source_gap=24),
    replay(7, 101, name="odd strides", source_gap=2, captured_gap=3),
    replay(5, 90, name="both sides shifted by one element", shift=1, captured_shift=1, captured_gap=2),
    replay(5, 90, name="sides shifted differently", shift=1, captured_shift=2),
    replay(2, 5000, name="long rows"),
    replay(300, 12, name="300 short rows"),
    replay(4, 16, name="rows too narrow", refused=1),
    replay(3, 64, name="captured rows past 2^31 elements", captured_gap=0, captured_apart=1 << 30, spare=0),
    replay(3, 90, name="source rows past 2^31 elements", source_apart=1 << 30),
)


def aligned(batch: int, columns: int, *, name: str, source_units: int = 0, captured_units: int = 16) -> Case:
    """Both sides of every row begin at a multiple of 16 bytes; so many units of each row are unused."""
    to_a_unit = -columns % 4
    return replay(
        batch,
        columns,
        name=name,
        source_gap=to_a_unit + 4 * source_units,
        captured_gap=to_a_unit + 4 * captured_units,
    )


# In this and in TABLE_CASES the first is the case for mechanisms: its rows are long enough to count units.
ALIGNED_CASES = (
    aligned(2, 515, name="2 rows of 515, a tail of 3"),
    aligned(4, 16, name="4 rows of 16"),
    aligned(8, 0, name="no columns"),
    aligned(0, 8, name="no rows"),
    aligned(7, 103, name="a tail of 3, gaps in the source too", source_units=5),
    aligned(6, 45, name="a tail of 1"),
    aligned(3, 130, name="a tail of 2"),
    aligned(1, 1, name="one element"),
    aligned(5, 3, name="rows of 3, less than a unit"),
    aligned(3, 200, name="no gaps on either side", captured_units=0),
    aligned(2, 5001, name="long rows"),
    aligned(300, 12, name="300 short rows"),
    replay(4, 16, name="rows too narrow", refused=1),
)

SIX_EDGES = replay(
    5,
    66,
    name="three elements before a row's first unit, three after its last",
    source_gap=2,
    captured_gap=66,
    shift=1,
    captured_shift=1,
)

TABLE_CASES = (
    replay(2, 512, name="2 rows of 512, both sides shifted by one element", shift=1, captured_shift=1),
    replay(2, 512, name="2 rows of 512"),
    replay(6, 45, name="aligned rows with an odd tail", source_gap=3, captured_gap=19),
    replay(2, 61, name="two rows", source_gap=2, captured_gap=1),
    SIX_EDGES,
    *ROW_CASES,
)


def hidden_vectors(rng: Random) -> Sequence[Case]:
    return [replay(rng.number(1, 700), 1, name=f"hidden {number}") for number in range(1, 4)]


def _arbitrary(rng: Random, number: int) -> Case:
    batch = rng.choice((1, 2, 7, 31, 64, 130))
    return replay(
        batch,
        rng.number(1, 6000 // batch),
        name=f"hidden {number}",
        source_gap=rng.choice((0, 0, 1, 4, 30)),
        captured_gap=rng.choice((0, 1, 4, 64, 95)),
        shift=rng.choice((0, 0, 1, 2, 3)),
        captured_shift=rng.choice((0, 0, 1, 2, 3)),
    )


def hidden_rows(rng: Random) -> Sequence[Case]:
    return [_arbitrary(rng, number) for number in range(1, 5)]


def hidden_aligned(rng: Random) -> Sequence[Case]:
    """The first has rows that are long enough to count units."""

    def draw(number: int, batch: int, least: int) -> Case:
        return aligned(
            batch,
            rng.number(least, max(least, 6000 // batch)),
            name=f"hidden {number}",
            source_units=rng.choice((0, 0, 1, 7)),
            captured_units=rng.choice((0, 1, 16, 40)),
        )

    some = [draw(number, rng.choice((1, 2, 7, 31, 64, 130)), 1) for number in range(2, 5)]
    return [draw(1, rng.number(1, 4), 400), *some]


def hidden_tables(rng: Random) -> Sequence[Case]:
    """The first has long rows that can move in 16-byte units, wherever they begin; the rest are arbitrary."""
    shift = rng.number(0, 3)
    long_rows = replay(
        rng.number(1, 4),
        rng.number(400, 1200),
        name="hidden 1",
        source_gap=4 * rng.number(0, 8),
        captured_gap=4 * rng.number(0, 30),
        shift=shift,
        captured_shift=shift,
    )
    return [long_rows, *(_arbitrary(rng, number) for number in range(2, 6))]


def _inputs(fields: tuple[str, ...]) -> Callable[[Size, Random], Call]:
    return lambda size, rng: call(size, rng, fields)


def _step(
    name: str,
    entry: str,
    fields: tuple[str, ...],
    cases: tuple[Case, ...],
    hidden: Callable[[Random], Sequence[Case]],
    points: float,
    *more_mechanisms: Mechanism,
) -> Step:
    return Step(
        name=name,
        entry=entry,
        inputs=_inputs(fields),
        reference=reference,
        compare=Exact(),
        cases=cases,
        hidden=hidden,
        points=points,
        known_mistakes=known_mistakes(fields),
        mechanisms=(Launches(exactly=1), *more_mechanisms),
    )


LOADS_FIRST = RoundTripsAtMost(1)
TABLE = ("page_table",)
STEPS = (
    _step("one vector", "copy_one", VECTORS[:1], VECTOR_CASES, hidden_vectors, 2),
    _step("two vectors", "copy_two", VECTORS[:2], VECTOR_CASES, hidden_vectors, 3, LOADS_FIRST),
    _step("all vectors", "copy_vectors", VECTORS, VECTOR_CASES, hidden_vectors, 3, LOADS_FIRST),
    _step("rows", "copy_rows", TABLE, ROW_CASES, hidden_rows, 4),
    _step(
        "aligned rows", "copy_aligned_rows", TABLE, ALIGNED_CASES, hidden_aligned, 4, WideUnits(), LOADS_FIRST
    ),
    _step(
        "the page table", "copy_page_table", TABLE, TABLE_CASES, hidden_tables, 4, WideUnits(), LOADS_FIRST
    ),
)
