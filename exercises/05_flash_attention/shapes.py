"""The sizes of a case, by name, and what follows from them alone.

batch, heads, length, head_dim
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
    "length": "rows: {:,}",
    "head_dim": "head_dim: {}",
    "causal": {1: "causal"},
    "bfloat16": {1: "bfloat16"},
    "rows_apart": {1: "a head's rows apart, with those of other heads between"},
    "gap": "{:,} elements between rows",
    "scale": "scaled by {} / 1,000",
    "size": {value: f"large scores (queries and keys of {value / 10:g})" for value in (40, 80, 500)},
}
_FAR = 1 << 20
PAST_31_BITS = 9 << 24  # a gap by which the 16th row begins past 2^31 elements
SEVEN = (  # (batch, length, heads, head_dim): the document's own correctness cases
    (1, 128, 4, 64),
    (1, 256, 8, 64),
    (2, 512, 8, 64),
    (4, 512, 8, 64),
    (1, 512, 16, 64),
    (2, 256, 8, 64),
    (2, 128, 8, 64),
)


attention = cases_with(
    WORDS,
    batch=1,
    heads=1,
    length=64,
    head_dim=64,
    causal=0,
    bfloat16=0,
    rows_apart=0,
    gap=0,
    scale=0,
    size=10,
)


def bench(batch: int, heads: int, length: int, *, causal: int = 0, gpu_only: bool = False) -> Case:
    """fp16, heads of 64, as the document has it."""
    name = f"{batch} × {heads} heads, {length:,}" + (", causal" if causal else "")
    return attention(name, batch=batch, heads=heads, length=length, causal=causal, gpu_only=gpu_only)


def softmax_scale(size: Size) -> float:
    return size.scale / 1000 if size.scale else size.head_dim**-0.5


def elements(size: Size) -> int:
    """Of one tensor."""
    return size.batch * size.heads * size.length * size.head_dim


def bytes_moved(size: Size) -> int:
    """Queries, keys and values are read, the output is written."""
    return 4 * 2 * elements(size)


def is_far(gap: int) -> bool:
    """Whether rows lie so far apart that offsets may pass 2^31."""
    return gap >= _FAR


def strides(size: Size, gap: int) -> tuple[int, int, int]:
    """From a batch, a head and a row to the next, in elements, with such gaps."""
    row = size.head_dim + gap
    if size.rows_apart:
        return size.length * size.heads * row, row, size.heads * row
    return size.heads * size.length * row, size.length * row, row


def products(size: Size) -> int:
    """Multiplications of 16 x 8 x 16 that both matrix products take at least, where every key is seen: rows
    by eights and keys by sixteens, or the reverse."""
    sixteens, eights = -(-size.length // 16), -(-size.length // 8)
    return size.batch * size.heads * sixteens * eights * (size.head_dim // 16) * 2
