"""The sizes of a case, by name, and what follows from them alone.

batch, heads, length, head_dim
sharers     heads of queries that share one head of keys and values: they follow one another
causal      1: a query sees the keys up to its own place, no later ones
bfloat16    1: tensors are bfloat16, else fp16
rows_apart  0: [batch, head, row, element]; 1: [batch, row, head, element], so that a head's rows lie apart
gap         elements between a row and the next of queries, keys and values, a multiple of 8; one that is far
            (is_far) is in the output, too, and what lies in it is not held
scale       of the scores, in thousandths; 0: 1/√head_dim
size        magnitude of queries and keys, in tenths
"""

from __future__ import annotations

from grader.spec import Case, Size, Words, cases_with

WORDS: Words = {
    "batch": "batch: {}",
    "heads": "heads: {}",
    "sharers": {value: f"{value} heads share their keys and values" for value in range(2, 9)},
    "length": "rows: {:,}",
    "head_dim": "head_dim: {}",
    "causal": {1: "causal"},
    "bfloat16": {1: "bfloat16"},
    "rows_apart": {1: "a head's rows apart, with those of other heads between"},
    "gap": "{:,} elements between rows",
    "scale": "scaled by {} / 1,000",
    "size": {value: f"large scores (queries and keys of {value / 10:g})" for value in (40, 80, 500)},
}
attention = cases_with(
    WORDS,
    batch=1,
    heads=1,
    sharers=1,
    length=64,
    head_dim=64,
    causal=0,
    bfloat16=0,
    rows_apart=0,
    gap=0,
    scale=0,
    size=10,
)
_FAR = 1 << 20
PAST_31_BITS = 9 << 24  # a gap by which the 16th row begins past 2^31 elements
# (batch, heads, length, causal): each with heads of 64 and of 128.
SIX = (
    (2, 8, 512, 0),
    (8, 16, 512, 0),
    (32, 16, 512, 0),
    (2, 8, 4096, 0),
    (2, 8, 4096, 1),
    (4, 32, 2048, 1),
)


def bench(batch: int, heads: int, length: int, causal: int, head_dim: int) -> Case:
    """fp16. The first of SIX is small enough for the virtual GPU."""
    name = f"{batch} × {heads} heads of {head_dim}, {length:,}" + (", causal" if causal else "")
    small = (batch, heads, length, head_dim) == (*SIX[0][:3], 64)
    return attention(
        name,
        batch=batch,
        heads=heads,
        length=length,
        head_dim=head_dim,
        causal=causal,
        gpu_only=not small,
    )


def softmax_scale(size: Size) -> float:
    return size.scale / 1000 if size.scale else size.head_dim**-0.5


def elements(size: Size, heads: int) -> int:
    """Of a tensor with so many heads."""
    return size.batch * heads * size.length * size.head_dim


def bytes_read(size: Size) -> int:
    """Queries, keys and values."""
    return 2 * (elements(size, size.heads) + 2 * elements(size, key_heads(size)))


def bytes_moved(size: Size) -> int:
    """What is read, and the output."""
    return bytes_read(size) + 2 * elements(size, size.heads)


def key_heads(size: Size) -> int:
    """Of keys and of values."""
    return size.heads // size.sharers


def is_far(gap: int) -> bool:
    """Whether rows lie so far apart that offsets may pass 2^31."""
    return gap >= _FAR


def strides(size: Size, heads: int, gap: int) -> tuple[int, int, int]:
    """From a batch, a head and a row to the next, in elements, with so many heads and such gaps."""
    row = size.head_dim + gap
    if size.rows_apart:
        return size.length * heads * row, row, heads * row
    return heads * size.length * row, size.length * row, row


def products(size: Size) -> int:
    """Multiplications of 16 x 8 x 16, as one warp does them by mma, that both matrix products take where
    every key is seen."""
    sixteens, eights = -(-size.length // 16), -(-size.length // 8)
    return size.batch * size.heads * sixteens * eights * (size.head_dim // 16) * 2
