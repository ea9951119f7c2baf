"""The steps, one idea each: every step is the same attention, in fp16 with heads of 64."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Mechanism, Normwise, Size, Step
from grader.spec.mechanisms import AsyncCopies, CopiesAhead, Launches
from grader.spec.random_inputs import Random

from .layout import reference, step_inputs
from .mechanisms import NoBankConflicts, ScoresInRegisters, TensorCores
from .mistakes import MISTAKES
from .shapes import PAST_31_BITS, attention, elements

# For a row with one key torch makes no error at all, and a weight rounded to fp16 makes one.
COMPARE = Normwise(times=2.0, at_most=1e-2, least=2**-11)
CASES = (
    attention("one row", length=1),
    attention("16 rows", length=16),
    attention("64 rows", length=64),
    attention("77 rows, two heads", length=77, heads=2),
    attention("77 rows, causal", length=77, heads=2, causal=1),
    attention("rows apart", length=70, heads=3, batch=2, rows_apart=1),
    attention("gaps between rows", length=40, heads=2, gap=8),
    attention("rows past 2^31 elements", length=17, gap=PAST_31_BITS),
    attention("another scale", length=50, scale=700),
    attention("large scores", length=90, size=60, causal=1),
    attention("huge scores", length=4, heads=16, size=500, causal=1),
    attention("264 rows", length=264),
)


def hidden(rng: Random) -> Sequence[Case]:
    return [
        attention(
            f"hidden {number}",
            batch=rng.number(1, 2),
            heads=rng.number(1, 3),
            length=rng.number(1, 150),
            causal=rng.number(0, 1),
            rows_apart=rng.number(0, 1),
            gap=rng.choice((0, 0, 8)),
            scale=rng.choice((0, 0, 50, 400)),
            size=rng.choice((10, 10, 40)),
        )
        for number in range(1, 4)
    ]


def one_tensor(size: Size) -> int:
    return 2 * elements(size)


def copied(size: Size) -> int:
    """Keys and values, each read once."""
    return 2 * one_tensor(size)


def many_tiles(size: Size) -> bool:
    """Enough keys that the bytes before the first product, a tile and the queries, are the smaller part with
    any tiling: 48 KB hold two stages of 96 keys. A causal mask leaves early rows few keys."""
    return size.length >= 256 and not size.causal


def queries_and_tails(size: Size) -> int:
    return 2 * one_tensor(size)


def _step(
    name: str, entry: str, points: float, *mechanisms: Mechanism, former_names: tuple[str, ...] = ()
) -> Step:
    return Step(
        name=name,
        entry=entry,
        inputs=step_inputs,
        reference=reference,
        compare=COMPARE,
        cases=CASES,
        hidden=hidden,
        points=points,
        known_mistakes=MISTAKES,
        mechanisms=(Launches(exactly=1), *mechanisms),
        former_names=former_names,
    )


ASYNC = AsyncCopies(
    least_bytes=copied,
    most_loaded=queries_and_tails,
    name="cp.async brings the tiles",
    remedy="where How::kAsync is set, fetch the tiles with copy_16_bytes_or_zeros_async() of cp_async.cuh",
)
AHEAD = CopiesAhead(shows=many_tiles)
STEPS = (
    _step("online softmax", "attend_scalar", 6, former_names=("softmax on the way",)),
    _step("tensor cores", "attend_wmma", 7, TensorCores()),
    _step("scores in registers", "attend_in_registers", 10, TensorCores(), ScoresInRegisters()),
    _step("asynchronous copies", "attend_async", 4, TensorCores(), ScoresInRegisters(), ASYNC),
    _step("copies ahead", "attend_ahead", 5, TensorCores(), ScoresInRegisters(), ASYNC, AHEAD),
    _step(
        "swizzle", "attend_swizzled", 5, TensorCores(), ScoresInRegisters(), ASYNC, AHEAD, NoBankConflicts()
    ),
)
