"""Steps to the whole attention: quantise, change widths, attend to a bucket (scores, then their maximum and
sum, then the values), merge."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, Exact, Normwise, Step
from grader.spec.mechanisms import Launches
from grader.spec.random_inputs import Random

from .mechanisms import LaunchesAtMost
from .merge_mistakes import MERGING
from .mistakes import ATTENDING, SCORING, SUMMING
from .parts import (
    attend,
    attending_inputs,
    merge,
    merging,
    merging_inputs,
    score,
    scoring_inputs,
    summing_inputs,
)
from .shapes import attention, only
from .token_mistakes import MOVING, STORING
from .tokens import move, moving, moving_inputs, prefill, store, stored_bytes, storing, storing_inputs

HEAD_DIMS = (8, 64, 80, 96, 128, 256)
# A maximum and a sum are one number for each head: torch's own error in it may be 0 by chance, and that of a
# query of 16 bits never is. Scores may cancel; sums of weights are at least 1.
_HALF_ROUNDING = 2.0**-11

STORING_CASES = (
    storing("a token of 8 bits", tokens=only(8, 1)),
    *(storing(f"{bits} bits", buckets=bits, tokens=only(bits, 9)) for bits in (8, 4, 2, 3)),
    storing("one token of each width", tokens=(1, 1, 1, 1)),
    *(
        storing(f"heads of {head_dim}", head_dim=head_dim, kv_heads=3, tokens=(7, 7, 7, 7))
        for head_dim in HEAD_DIMS
    ),
    storing("one head", kv_heads=1, tokens=(11, 5, 3, 2)),
    storing("64 heads", kv_heads=64, head_dim=80, tokens=(2, 1, 1, 1)),
    storing("fp16 scales", scale_bytes=2, tokens=(12, 12, 12, 12)),
    storing("buckets in another order", buckets=8423, tokens=(5, 6, 7, 8)),
    storing("two sequences", batch=2, tokens=(9, 9, 9, 9)),
    storing("gaps between tokens and heads", token_gap=40, head_gap=8, tokens=(5, 5, 5, 5)),
    storing("heads apart, tokens together", head_major=1, tokens=(5, 5, 5, 5)),
    storing("a source that is not aligned", shift=3, head_gap=1, tokens=(5, 5, 5, 5)),
    storing("in the order of the tokens", scattered=0, tokens=(40, 30, 30, 28)),
)
MOVING_CASES = (
    moving("a move", 1),
    moving("8 bits to 4 and back", 12, buckets=48),
    moving("2 bits and 3", 12, buckets=23),
    moving("all widths", 40, batch=2, kv_heads=3),
    *(moving(f"heads of {head_dim}", 9, head_dim=head_dim, kv_heads=3) for head_dim in HEAD_DIMS),
    moving("fp16 scales", 40, scale_bytes=2),
    moving("the largest fp16 scales", 12, buckets=28, scale_bytes=2, largest=1),
    moving("thousands of moves", 3000, kv_heads=1, head_dim=16),
)
ATTENDING_CASES = (
    attention("a key", buckets=8, tokens=only(8, 1)),
    attention("8 keys of 8 bits", buckets=8, tokens=only(8, 8)),
    attention("4 bits", buckets=4, tokens=only(4, 40)),
    attention("2 bits", buckets=2, tokens=only(2, 70)),
    attention("3 bits", buckets=3, tokens=only(3, 70)),
    attention("several chunks", buckets=3, tokens=only(3, 901), kv_heads=3),
    # A row has at most 192 parts: with so many keys a warp has several chunks, and its maxima grow.
    attention("a long bucket", buckets=8, tokens=only(8, 50_001), kv_heads=1, group=4, sharp=50),
    attention("a long bucket of 8 queries", buckets=8, tokens=only(8, 50_001), kv_heads=1, group=8, sharp=50),
    attention("no keys", buckets=4, tokens=only(4, 0), spare=1),
    attention("everything hidden", buckets=4, tokens=only(4, 50), mask=2),
    attention("a mask", buckets=2, tokens=only(2, 150), batch=2, mask=1, uneven=1),
    attention("keys that stand out", buckets=8, tokens=only(8, 300), sharp=50),
    attention("scores past any exponent", buckets=8, tokens=only(8, 3000), kv_heads=1, sharp=400),
    attention("small values", buckets=8, tokens=only(8, 200), value_power=-8),
    attention("large values", buckets=2, tokens=only(2, 200), value_power=10),
    attention(
        "a long bucket of the largest values",
        buckets=2,
        tokens=only(2, 90_001),
        kv_heads=1,
        group=4,
        sharp=50,
        value_power=13,
    ),
    attention("full buckets", buckets=3, tokens=only(3, 128)),
    *(
        attention(f"{group} query heads share a key", buckets=4, tokens=only(4, 90), group=group)
        for group in (2, 4, 8)
    ),
    attention("fp16 scales", buckets=2, tokens=only(2, 130), scale_bytes=2, spare=1, strange=1),
    attention("three sequences", buckets=8, tokens=only(8, 77), batch=3, uneven=2, empty=1),
)
# The code for other heads than those of 128 is part of the starter: one step with them is enough.
EVERY_HEAD_CASES = ATTENDING_CASES + tuple(
    attention(f"heads of {head_dim}", buckets=3, tokens=only(3, 45), head_dim=head_dim)
    for head_dim in HEAD_DIMS
)
MERGING_CASES = (
    merging("two parts", 2, 4, 128),
    merging("one part", 1, 4, 128),
    merging("one key", 1, 5, 128, single=1),
    merging("parts of one key or none", 4, 40, 64, none=1, single=1),
    merging("parts without keys", 5, 33, 128, none=1),
    merging("nothing but parts without keys", 1, 16, 64, none=1),
    merging("maxima far apart", 6, 20, 128, apart=100),
    merging("maxima further apart than any exponent", 4, 20, 128, apart=20_000, none=1),
    merging("many parts", 192, 3, 128, none=1),
    *(merging(f"heads of {head_dim}", 3, 7, head_dim) for head_dim in HEAD_DIMS),
)
PREFILL = prefill(4096, 32, gpu_only=True)


def hidden_storing(rng: Random) -> Sequence[Case]:
    return [
        storing(
            f"hidden {number}",
            batch=rng.number(1, 3),
            kv_heads=rng.number(1, 5),
            head_dim=8 * rng.number(1, 32),
            buckets=rng.choice((2348, 8432, 3284)),
            scale_bytes=rng.choice((2, 4)),
            token_gap=rng.choice((0, 0, 8, 5)),
            head_gap=rng.choice((0, 0, 8, 16, 3)),
            head_major=rng.number(0, 1),
            shift=rng.choice((0, 0, 8, 1)),
            tokens=(*(rng.number(0, 20) for _ in range(3)), rng.number(1, 20)),
        )
        for number in range(1, 5)
    ]


def hidden_moving(rng: Random) -> Sequence[Case]:
    return [
        moving(
            f"hidden {number}",
            rng.number(1, 90),
            batch=rng.number(1, 3),
            kv_heads=rng.number(1, 5),
            head_dim=8 * rng.number(1, 32),
            buckets=rng.choice((2348, 8432, 28, 43)),
            scale_bytes=rng.choice((2, 4)),
        )
        for number in range(1, 4)
    ]


def hidden_attending(rng: Random) -> Sequence[Case]:
    def draw(number: int) -> Case:
        bits = rng.choice((2, 3, 4, 8))
        return attention(
            f"hidden {number}",
            batch=rng.number(1, 3),
            kv_heads=rng.number(1, 4),
            group=rng.number(1, 8),
            head_dim=rng.choice((128, 128, 64, 80, 96, 8 * rng.number(1, 32))),
            buckets=bits,
            scale_bytes=rng.choice((2, 4)),
            uneven=rng.number(1, 1 << 30),
            mask=rng.choice((0, 1)),
            sharp=rng.choice((3, 10, 40)),
            spare=rng.number(0, 1),
            strange=1,
            tokens=only(bits, rng.number(1, 200)),
        )

    return [draw(number) for number in range(1, 5)]


def hidden_merging(rng: Random) -> Sequence[Case]:
    return [
        merging(
            f"hidden {number}",
            rng.number(1, 60),
            rng.number(1, 40),
            8 * rng.number(1, 32),
            none=rng.number(0, 1),
            single=rng.number(0, 1),
            apart=rng.choice((1, 10, 200)),
        )
        for number in range(1, 4)
    ]


STEPS = (
    Step(
        name="quantise",
        entry="quantize_and_pack",
        inputs=storing_inputs,
        reference=store,
        compare=Exact(),
        cases=STORING_CASES,
        hidden=hidden_storing,
        points=15,
        known_mistakes=STORING,
        mechanisms=(Launches(exactly=1),),
        bench=(PREFILL, prefill(512, 4)),
        bytes_moved=stored_bytes,
    ),
    Step(
        name="change widths",
        entry="requantize",
        inputs=moving_inputs,
        reference=move,
        compare=Exact(),
        cases=MOVING_CASES,
        hidden=hidden_moving,
        points=5,
        known_mistakes=MOVING,
        mechanisms=(Launches(exactly=1),),
    ),
    Step(
        name="scores",
        entry="score_bucket",
        inputs=scoring_inputs,
        reference=score,
        compare=Normwise(least=_HALF_ROUNDING, cancelling=("scores",)),
        cases=ATTENDING_CASES,
        hidden=hidden_attending,
        points=5,
        known_mistakes=SCORING,
        mechanisms=(LaunchesAtMost(2),),
    ),
    Step(
        name="max and sum",
        entry="sum_bucket",
        inputs=summing_inputs,
        reference=attend,
        compare=Normwise(least=_HALF_ROUNDING, cancelling=("max",)),
        cases=ATTENDING_CASES,
        hidden=hidden_attending,
        points=4,
        known_mistakes=SUMMING,
        mechanisms=(LaunchesAtMost(2),),
        blocks_share="several chunks",
    ),
    Step(
        name="attend",
        entry="attend_bucket",
        inputs=attending_inputs,
        reference=attend,
        compare=Normwise(least=_HALF_ROUNDING, cancelling=("max",)),
        cases=EVERY_HEAD_CASES,
        hidden=hidden_attending,
        points=6,
        known_mistakes=ATTENDING,
        mechanisms=(LaunchesAtMost(2),),
        blocks_share="several chunks",
    ),
    Step(
        name="merge",
        entry="merge_parts",
        inputs=merging_inputs,
        reference=merge,
        compare=Normwise(),
        cases=MERGING_CASES,
        hidden=hidden_merging,
        points=5,
        known_mistakes=MERGING,
        mechanisms=(Launches(exactly=1),),
    ),
)
