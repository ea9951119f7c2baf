"""The steps, one idea each, in fp16 with heads of 64."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exact, Normwise, Size, Step
from grader.spec.mechanisms import Launches
from grader.spec.random_inputs import Random

from .layout import (
    copied,
    copied_otherwise,
    copy_inputs,
    heads_and_batches_exchanged,
    pieces_by,
    reference,
    step_inputs,
    sum_inputs,
    summed,
    summed_otherwise,
)
from .mechanisms import (
    NoScoresInSharedMemory,
    ProductsOfFourWarps,
    TilesByCopyEngine,
    TwoConsumers,
    WeightsUnderProducts,
)
from .mistakes import MISTAKES
from .shapes import attention, bytes_read, elements

# For a row with one key torch makes no error at all, and a weight rounded to fp16 makes one.
COMPARE = Normwise(times=2.0, at_most=1e-2, least=2**-11)
ONE_TENSOR = (
    attention("a tile", length=64),
    attention("one row", length=1),
    attention("77 rows, two heads", length=77, heads=2),
    attention("rows apart", length=130, heads=3, batch=2, rows_apart=1),
    attention("gaps between rows", length=40, heads=2, gap=8),
    attention("nine tiles", length=9 * 64, heads=2),
)
CASES = (
    attention("a tile", length=64),
    attention("one row", length=1),
    attention("77 rows, two heads", length=77, heads=2),
    attention("77 rows, causal", length=77, heads=2, causal=1),
    attention("300 rows", length=300),
    attention("300 rows, causal", length=300, causal=1),
    attention("rows apart", length=70, heads=3, batch=2, rows_apart=1),
    attention("gaps between rows", length=140, heads=2, gap=8),
    attention("another scale", length=150, scale=700),
    attention("large scores", length=190, size=80, causal=1),
    attention("huge scores, causal", length=4, heads=16, size=500, causal=1),
    attention("seven tiles of keys", length=7 * 128 - 5),
)


def one_tensor(size: Size) -> int:
    return 2 * elements(size, size.heads)


def hidden_tensors(rng: Random) -> Sequence[Case]:
    return [
        attention(
            f"hidden {number}",
            batch=rng.number(1, 2),
            heads=rng.number(1, 3),
            length=rng.number(1, 700),
            rows_apart=rng.number(0, 1),
            gap=rng.choice((0, 0, 8)),
        )
        for number in range(1, 4)
    ]


def hidden(rng: Random) -> Sequence[Case]:
    return [
        attention(
            f"hidden {number}",
            batch=rng.number(1, 2),
            heads=rng.number(1, 3),
            length=rng.number(1, 400),
            causal=rng.number(0, 1),
            rows_apart=rng.number(0, 1),
            gap=rng.choice((0, 0, 8)),
            scale=rng.choice((0, 0, 50, 400)),
            size=rng.choice((10, 10, 40)),
        )
        for number in range(1, 4)
    ]


ENGINE = TilesByCopyEngine(bytes_read)
READINGS = {
    "pieces are taken from where they were in the tensor: piece p of row r lies at place p ^ (r % 8)": (
        pieces_by(lambda row: row % 8)
    ),
    "the swizzle of a row is taken from row % 4: piece p of row r lies at place p ^ (r % 8)": pieces_by(
        lambda row: row % 8 - row % 4
    ),
    "the copy's coordinates are in the wrong order: element, row, head, batch": heads_and_batches_exchanged,
}
STEPS = (
    Step(
        name="a tile",
        entry="copy_tiles",
        inputs=copy_inputs,
        reference=copied,
        compare=Exact(),
        cases=ONE_TENSOR,
        hidden=hidden_tensors,
        points=6,
        known_mistakes={name: copied_otherwise(read) for name, read in READINGS.items()},
        mechanisms=(Launches(exactly=1), TilesByCopyEngine(one_tensor)),
    ),
    Step(
        name="a ring of stages",
        entry="sum_tiles",
        inputs=sum_inputs,
        reference=summed,
        compare=Normwise(times=4.0, at_most=1e-5, least=1e-6),
        cases=ONE_TENSOR,
        hidden=hidden_tensors,
        points=10,
        known_mistakes={name: summed_otherwise(read) for name, read in READINGS.items()},
        mechanisms=(Launches(exactly=1), TilesByCopyEngine(one_tensor)),
    ),
    Step(
        name="products of four warps",
        entry="attend_in_order",
        inputs=step_inputs,
        reference=reference,
        compare=COMPARE,
        cases=CASES,
        hidden=hidden,
        points=16,
        known_mistakes=MISTAKES,
        mechanisms=(Launches(exactly=1), ENGINE, ProductsOfFourWarps(), NoScoresInSharedMemory()),
    ),
    Step(
        name="weights under products",
        entry="attend_overlapped",
        inputs=step_inputs,
        reference=reference,
        compare=COMPARE,
        cases=CASES,
        hidden=hidden,
        points=8,
        known_mistakes=MISTAKES,
        mechanisms=(
            Launches(exactly=1),
            ENGINE,
            ProductsOfFourWarps(),
            NoScoresInSharedMemory(),
            TwoConsumers(),
            WeightsUnderProducts(),
        ),
    ),
)
