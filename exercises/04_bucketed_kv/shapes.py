"""The sizes of a case, by name, and what follows from them alone: lengths, capacities, bytes.

batch, kv_heads, group, head_dim
of_2, of_3, of_4, of_8   tokens of each width, in the longest sequence
buckets        the widths that have a bucket, as digits in their order: 2348, or 8 for a uniform cache
scale_bytes    4 or 2
uneven         0: every sequence has all of these tokens; else a seed for lengths, shorter in all but one
empty          1: the last sequence has no tokens
mask           0: none; 1: a third of the slots is hidden; 2: the last sequence is hidden altogether
sharp          spread of the scores, in tenths: 10 is flat, from 40 on a few keys have all the weight
spare          further 64 entries of capacity; very many (is_far) are all of it, and few are in memory
strange        1: scales past the end of a bucket are NaN
value_power    values are 2 to this power times as large as usual
"""

from __future__ import annotations

import functools

from common.serving.bucketed.memory import half_token_bytes, token_bytes
from common.serving.bucketed.widths import WIDTHS
from grader.spec import Case, Size, Words, cases_with
from grader.spec.random_inputs import Random

Tokens = tuple[int, ...]  # of 2, 3, 4 and 8 bits

WORDS: Words = {
    "batch": "batch: {}",
    "kv_heads": "heads of keys: {}",
    "group": {number: f"queries of each: {number}" for number in range(2, 9)},
    "head_dim": "head_dim: {}",
    **{f"of_{bits}": f"tokens of {bits} bits: {{:,}}" for bits in WIDTHS},
    "scale_bytes": {2: "scales of 2 bytes"},
    "uneven": "sequences of different lengths",
    "empty": {1: "a sequence without tokens"},
    "mask": {1: "a mask over a third of the slots", 2: "a mask over a whole sequence"},
    "sharp": dict.fromkeys(range(30, 100), "keys that stand out") | {400: "scores in the hundreds"},
    "spare": "buckets with room",
    "strange": {1: "NaN past the end of a bucket"},
    "value_power": {
        -8: "values 256 times smaller",
        10: "values 1,024 times larger",
        13: "values 8,192 times larger",
    },
    "token_gap": "{} elements between tokens",
    "head_gap": "{} elements between heads",
    "head_major": {1: "tokens of a head side by side"},
    "shift": "shifted by {} elements",
}
ALL_BUCKETS = 2348
NO_TOKENS: Tokens = (0, 0, 0, 0)
_CAPACITY_STEP = 64
_FAR = 1 << 16
PAST_32_BITS = 1 << 19  # spare entries, in steps: with 8 bits, the second head begins at 2^32 bytes
# Hundredths of the tokens that have 2, 3, 4 and 8 bits, by budget in hundredths of FP16's bytes. With heads
# of 128 and scales of 4 bytes each mix takes its budget, or a little less.
MIXES = {20: (55, 26, 12, 7), 25: (34, 25, 25, 16), 35: (14, 14, 29, 43), 50: (1, 1, 4, 94)}


def only(bits: int, count: int) -> Tokens:
    """This many tokens, all of one width."""
    return tuple(count if bits == each else 0 for each in WIDTHS)


def named(tokens: Tokens) -> dict[str, int]:
    """As sizes of a case."""
    return {f"of_{bits}": count for bits, count in zip(WIDTHS, tokens, strict=True)}


_attention = cases_with(
    WORDS,
    batch=1,
    kv_heads=2,
    group=1,
    head_dim=128,
    **named(NO_TOKENS),
    buckets=ALL_BUCKETS,
    scale_bytes=4,
    uneven=0,
    empty=0,
    mask=0,
    sharp=10,
    spare=0,
    strange=0,
    value_power=0,
)


def attention(name: str, *, tokens: Tokens = NO_TOKENS, **sizes: int) -> Case:
    return _attention(name, **named(tokens), **sizes)


def mixed(keys: int, budget: int) -> Tokens:
    """How many of so many tokens have each width at a budget."""
    _, *shares = MIXES[budget]
    more = [keys * share // 100 for share in shares]
    return (keys - sum(more), *more)


def decode(batch: int, kv_heads: int, keys: int, budget: int, *, gpu_only: bool = False) -> Case:
    """A decoding step with heads of 128, as the bench has it."""
    length = f"{keys // 1024}k" if keys % 1024 == 0 else f"{keys:,}"
    name = f"{batch} × {kv_heads} heads, {length}, budget 0.{budget:02}"
    return attention(name, batch=batch, kv_heads=kv_heads, gpu_only=gpu_only, tokens=mixed(keys, budget))


def in_8_bits(mix: Case) -> Case:
    """The same tokens in a uniform cache: one bucket of 8 bits."""
    uniform = named(only(8, keys_of(mix.size)))
    return Case(f"{mix.name}, all in 8 bits", {**mix.sizes, **uniform, "buckets": 8}, mix.gpu_only)


def widths(size: Size) -> tuple[int, ...]:
    return tuple(map(int, str(size.buckets)))


def tokens_of(size: Size, bits: int) -> int:
    """Tokens of a width, in the longest sequence."""
    count: int = getattr(size, f"of_{bits}")
    return count


def keys_of(size: Size) -> int:
    return sum(tokens_of(size, bits) for bits in widths(size))


def is_far(size: Size) -> bool:
    """Whether heads lie so far apart in a bucket that offsets may pass 2^32."""
    return size.spare >= _FAR


def held(size: Size, bits: int) -> int:
    """Entries of a head that are in memory."""
    steps = max(1, -(-tokens_of(size, bits) // _CAPACITY_STEP)) + (0 if is_far(size) else size.spare)
    return steps * _CAPACITY_STEP


def capacity(size: Size, bits: int) -> int:
    return size.spare * _CAPACITY_STEP if is_far(size) else held(size, bits)


def lengths(size: Size) -> tuple[tuple[int, ...], ...]:
    """Of the buckets, for each sequence: from the sizes alone."""
    most = tuple(tokens_of(size, bits) for bits in widths(size))
    return _lengths(most, size.batch, size.uneven, size.empty)


@functools.cache
def _lengths(most: tuple[int, ...], batch: int, uneven: int, empty: int) -> tuple[tuple[int, ...], ...]:
    found = [most] * batch
    if uneven:
        rng = Random(f"lengths {uneven}")
        drawn = [tuple(rng.number(0, count) for count in most) for _ in range(batch - 1)]
        found = [*drawn, most]
        found.insert(0, found.pop(rng.number(0, batch - 1)))
    if empty:
        found[-1] = (0,) * len(most)
    return tuple(found)


def cache_bytes(size: Size) -> int:
    """Payload and scales of all tokens."""
    return sum(
        count * token_bytes(bits, size.kv_heads, size.head_dim, size.scale_bytes)
        for row in lengths(size)
        for bits, count in zip(widths(size), row, strict=True)
    )


def bytes_moved(size: Size) -> int:
    """The cache and the queries are read, the output is written."""
    return cache_bytes(size) + 2 * 2 * size.batch * size.kv_heads * size.group * size.head_dim


def budget_of(size: Size) -> float:
    tokens = sum(map(sum, lengths(size)))
    return cache_bytes(size) / (tokens * half_token_bytes(size.kv_heads, size.head_dim))


def bound(case: Case) -> float:
    """How many times faster than over 8 bits attention can be when bytes decide."""
    return cache_bytes(in_8_bits(case).size) / cache_bytes(case.size)
