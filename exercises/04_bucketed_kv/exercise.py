"""04 Bucketed KV: attention over a cache whose tokens have 2, 3, 4 or 8 bits."""

from __future__ import annotations

from collections.abc import Sequence

from grader.spec import Case, CopyBandwidth, Exercise, Normwise, Points, Size, Speedup
from grader.spec.mechanisms import SectorsAtMost, SharedAtMost
from grader.spec.random_inputs import Random

from .alternatives import YARDSTICKS
from .layout import heads_of, inputs, reference
from .mechanisms import IntegerProducts, LaunchesAtMost, NoSpillsInUse
from .mistakes import ATTENTION
from .predictions import PREDICTIONS
from .shapes import PAST_32_BITS, attention, bound, bytes_moved, decode, in_8_bits, only
from .steps import HEAD_DIMS, PREFILL, STEPS

CASES = (  # the smallest first: a student sees its result first
    attention("one token", tokens=only(8, 1)),
    attention("one token in each bucket", tokens=(1, 1, 1, 1)),
    attention("20 tokens", tokens=(5, 5, 5, 5)),
    *(attention(f"all tokens have {bits} bits", tokens=only(bits, 83)) for bits in (2, 3, 4, 8)),
    attention("no tokens"),
    attention("everything is hidden", tokens=(20, 9, 7, 5), mask=2),
    attention("a mask", tokens=(60, 45, 33, 21), mask=1),
    attention("two sequences of different lengths", batch=2, tokens=(90, 70, 50, 30), uneven=1),
    attention(
        "three sequences, one of them empty", batch=3, tokens=(40, 30, 20, 10), uneven=2, empty=1
    ),
    attention("a mask that hides a sequence", batch=2, tokens=(40, 30, 20, 10), mask=2),
    *(
        attention(f"{group} query heads share a key", group=group, tokens=(50, 40, 30, 20))
        for group in (2, 4, 8)
    ),
    *(
        attention(f"heads of {head_dim}", head_dim=head_dim, tokens=(23, 19, 17, 13), mask=1)
        for head_dim in HEAD_DIMS
        if head_dim != 128
    ),
    attention("one head", kv_heads=1, tokens=(77, 55, 44, 33)),
    attention("64 heads", kv_heads=64, tokens=(9, 8, 7, 6)),
    attention("fp16 scales", scale_bytes=2, tokens=(77, 55, 44, 33)),
    attention("buckets in another order", buckets=8423, tokens=(77, 55, 44, 33)),
    attention("buckets with room", tokens=(61, 62, 63, 65), spare=2, strange=1),
    attention("full buckets", tokens=(64, 64, 128, 64)),
    attention("heads past 2^32 bytes", buckets=8, tokens=only(8, 70), spare=PAST_32_BITS),
    attention("keys that stand out", tokens=(210, 140, 90, 60), sharp=50),
    attention("small values", tokens=(60, 50, 40, 200), value_power=-8),
    attention("large values", tokens=(200, 50, 40, 30), value_power=10),
    attention("a longer context", kv_heads=3, tokens=(811, 603, 402, 201)),
    # So many heads that a block takes several chunks, one after the other.
    attention("64 heads, keys that stand out", batch=4, kv_heads=64, sharp=50, tokens=only(8, 300)),
    *(
        attention(
            f"{group} query heads share keys that stand out", batch=4, kv_heads=64, group=group, sharp=50,
            tokens=only(8, 300),
        )
        for group in (3, 8)
    ),
    attention("25k tokens of one head", kv_heads=1, tokens=(12_011, 7_001, 4_003, 2_003), gpu_only=True),
    attention("64k tokens of 2 bits", kv_heads=4, tokens=only(2, 65_536), gpu_only=True),
    attention(
        "64k tokens, a mask", kv_heads=8, group=4, tokens=(30_001, 17_003, 11_009, 7_523),
        mask=1, gpu_only=True,
    ),
)  # fmt: skip

HEADS = 32
K = 1024
# Timed calls are checked against the reference, which takes seconds at the longest context: only one has it.
LARGE = (
    *(decode(8, HEADS, 16 * K, budget, gpu_only=True) for budget in (20, 25, 35)),
    decode(8, HEADS, 64 * K, 25, gpu_only=True),
)
SMALL = tuple(decode(1, HEADS, 8 * K, budget) for budget in (20, 25, 35))
BENCH = (
    *SMALL,
    decode(1, HEADS, 8 * K, 50),
    *(decode(1, HEADS, keys * K, budget, gpu_only=True) for keys in (1, 4, 16, 64) for budget in (25, 50)),
    *(decode(8, HEADS, keys * K, budget, gpu_only=True) for keys in (1, 4) for budget in (25, 50)),
    *LARGE,
    decode(8, HEADS, 16 * K, 50, gpu_only=True),
)
EVERYWHERE = tuple(case.name for case in BENCH)
_PARTS = 192  # at most, of a row, that are written and read again


def of_bound(case: Case, share: float) -> float:
    """A ratio over INT8: 1 plus this share of what fewer bytes allow."""
    return 1 + share * (bound(case) - 1)


def hidden(rng: Random) -> Sequence[Case]:
    """Random shapes for each grading, small enough to check. The first few also serve for mechanisms: at
    least one is like the timed shapes, with enough keys."""

    def draw(number: int) -> Case:
        return attention(
            f"hidden {number}",
            batch=rng.number(1, 3),
            kv_heads=rng.number(1, 4),
            group=1 if number == 1 else rng.choice((1, 1, 2, 3, 4, 8)),
            head_dim=128 if number <= 4 else rng.choice((64, 80, 96, 8 * rng.number(1, 32))),
            buckets=rng.choice((2348, 8432, 4283)),
            scale_bytes=rng.choice((4, 4, 2)),
            uneven=rng.number(1, 1 << 30),
            mask=rng.choice((0, 0, 1, 2)),
            sharp=rng.choice((3, 10, 10, 40)),
            spare=rng.number(0, 2),
            strange=rng.number(0, 1),
            tokens=(*(rng.number(0, 150) for _ in range(3)), rng.number(256 if number == 1 else 1, 300)),
        )

    return [draw(number) for number in range(1, 9)]


def most_sectors(size: Size) -> int:
    """32-byte sectors: the cache once, an eighth more, and as many parts as a row may have."""
    rows = size.batch * heads_of(size)
    parts = 2 * _PARTS * rows * (size.head_dim + 8) * 4
    return (bytes_moved(size) * 9 // 8 + parts) // 32


exercise = Exercise(
    title="Bucketed KV: attention over 2, 3, 4 and 8 bits",
    entry="bucketed_attention",
    inputs=inputs,
    reference=reference,
    compare=Normwise(times=2.0, at_most=1e-2),
    cases=CASES,
    hidden=hidden,
    bench=BENCH,
    bytes_moved=bytes_moved,
    baseline_case=in_8_bits,
    mechanisms=(LaunchesAtMost(2), SharedAtMost(48 * 1024), IntegerProducts(), NoSpillsInUse()),
    mechanism_case="a longer context",
    blocks_share="a longer context",
    targets=(
        Speedup(
            cases=tuple(case.name for case in SMALL),
            passing=1.1,
            full=1.3,
            least_each=0.9,
            share=0.1,
            structure=(LaunchesAtMost(2), IntegerProducts(), SectorsAtMost(most_sectors)),
        ),
        *(
            Speedup(
                cases=(case.name,),
                passing=of_bound(case, 0.45),
                full=of_bound(case, 0.70),
                least_each=0.9,
                share=0.15,
            )
            for case in LARGE
        ),
        Speedup(cases=EVERYWHERE, passing=0.9, full=0.9, least_each=0.9, share=0.15),
        CopyBandwidth(case=PREFILL.name, fraction=0.6, step="quantize_and_pack", share=0.15),
    ),
    points=Points(correct=20, clean=8, mechanism=7, speed=25),
    steps=STEPS,
    predictions=PREDICTIONS,
    known_mistakes=ATTENTION,
    hints=(
        "Begin with steps 1 and 2, where every bit is checked. A lane takes its elements in groups of "
        "eight: at b bits a group is b bytes, so no byte belongs to two lanes, not even at 3 bits. The "
        "scale needs the largest magnitude of the head: shuffle among its lanes, and make their number a "
        "power of two; lanes without elements take part with zeros. rintf rounds halves to even, roundf "
        "does not. First right, then fast: a division takes some ten instructions, and a head has only one "
        "scale. With a correctly rounded inverse y of it, q = x * y and then q + (x - q * scale) * y, both "
        "by fmaf, gives exactly the bits of the quotient.",
        "A score is scale * q.k. With q = s_q (256 high + low) and k = s_k (u - offset), everything "
        "but the two factors is an integer. It is the products of bytes with high and with low, minus "
        "offset * the sum of (256 high + low), which is the same for every key. So stored elements need no "
        "subtraction and no conversion: unpack with shifts and masks on whole words. You choose where an "
        "element lands in its word, as long as the query has the same order.",
        "Keep m (the highest score so far), sum and out for the keys you have seen. A new key with score s: "
        "if s > m, multiply sum and out by e^(m - s) and let m = s; then add e^(s - m) to sum and "
        "e^(s - m) v to out. Two such triples merge in the same way, from any source: lanes, warps, "
        "blocks, buckets. A triple that saw no key has m = -infinity, and -infinity minus -infinity is "
        "NaN: replace m = -infinity by 0 before you subtract it.",
        "A single sequence has only kv_heads pieces of work, and the GPU has room for hundreds of blocks: "
        "cut every bucket into splits of about equal bytes. Copies must be in flight while you compute: "
        "cp.async into stages of shared memory, 16 bytes per lane, each warp on its own. An atomic counter "
        "after a __threadfence() finds the block that finishes last; it can merge all parts of its head "
        "without another launch.",
    ),
    yardsticks=YARDSTICKS,
)
