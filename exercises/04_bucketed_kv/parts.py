"""Parts of attention, before they are normalised: the inputs of steps 3 to 6, and the right results.

A part is an output, the highest score, and the sum of the weights relative to it. Sizes of a merge:
    parts, rows, head_dim
    none           1: many parts have seen no key, and some rows have no other
    single         1: a part with keys has seen one, whose weight is 1
    apart          how far the highest scores of a row's parts are apart
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from common.serving.bucketed import reference_attention
from common.serving.bucketed.reference_attention import Part
from grader.spec import STREAM, At, Buffers, Call, Case, Size, Words, cases_with, i32
from grader.spec.random_inputs import Random

from .layout import (
    apart,
    cache_arguments,
    heads_of,
    mask_arguments,
    read_by_attention,
    room_arguments,
    size_arguments,
    softmax_scale,
    views,
    visible_slots,
    working_room,
)
from .shapes import capacity, widths

if TYPE_CHECKING:
    import torch

OUTPUTS = ("out", "max", "sum")


def _of_a_bucket(size: Size, rng: Random, outputs: dict[str, torch.Tensor]) -> Call:
    """A call that leaves these of one bucket."""
    made = {**read_by_attention(size, rng), **outputs, **working_room(size, rng)}
    table, of_sequences = cache_arguments(size)
    return Call(
        buffers=made,
        outputs=tuple(outputs),
        scratch=("scratch",),
        arguments=(
            At("queries"),
            table,
            of_sequences,
            *mask_arguments(size),
            *map(At, outputs),
            *room_arguments(made),
            *size_arguments(size),
        ),
        apart=apart(size),
    )


def scoring_inputs(size: Size, rng: Random) -> Call:
    """All scores are -inf before the call: those past the end of a sequence stay so."""
    import torch

    (bits,) = widths(size)
    shape = (size.batch, heads_of(size), capacity(size, bits))
    return _of_a_bucket(size, rng, {"scores": torch.full(shape, -torch.inf, device=rng.device)})


def summing_inputs(size: Size, rng: Random) -> Call:
    rows = (size.batch, heads_of(size))
    return _of_a_bucket(size, rng, {"max": rng.normal(*rows), "sum": rng.normal(*rows)})


def attending_inputs(size: Size, rng: Random) -> Call:
    rows = (size.batch, heads_of(size))
    outputs = {"out": rng.normal(*rows, size.head_dim), "max": rng.normal(*rows), "sum": rng.normal(*rows)}
    return _of_a_bucket(size, rng, outputs)


def score(size: Size, buffers: Buffers) -> None:
    """The scores of the one bucket's entries, multiplied in the type of the queries."""
    rows = buffers["queries"]
    (bucket,) = views(size, buffers)
    buffers["scores"].copy_(
        reference_attention.score_bucket(
            rows, bucket, visible_slots(buffers), softmax_scale(size), rows.dtype
        )
    )


def leave(part: Part, buffers: Buffers) -> None:
    """What the step's buffers have room for."""
    for name, values in zip(OUTPUTS, part, strict=True):
        if name in buffers:
            buffers[name].copy_(values)


def attend(size: Size, buffers: Buffers) -> None:
    """The one bucket's part, in the type of the queries."""
    rows = buffers["queries"]
    (bucket,) = views(size, buffers)
    leave(
        reference_attention.attend_bucket(
            rows,
            bucket,
            visible_slots(buffers),
            softmax_scale(size),
            rows.dtype,
            sums_alone="out" not in buffers,
        ),
        buffers,
    )


_WORDS: Words = {
    "parts": "parts: {}",
    "rows": "rows: {:,}",
    "head_dim": "head_dim: {}",
    "none": {1: "parts without a key"},
    "single": {1: "parts of one key"},
}


_merging = cases_with(_WORDS, parts=1, rows=1, head_dim=128, none=0, single=0, apart=2)


def merging(name: str, parts: int, rows: int, head_dim: int, **sizes: int) -> Case:
    return _merging(name, parts=parts, rows=rows, head_dim=head_dim, **sizes)


def merging_inputs(size: Size, rng: Random) -> Call:
    import torch

    rows = (size.parts, size.rows)
    sums = rng.normal(*rows).abs_() * 20 + 1
    if size.single:
        sums.fill_(1)
    outputs = rng.normal(*rows, size.head_dim) * sums.unsqueeze(-1)
    # Scores of a row may all be far below zero: what counts is how far they are from each other.
    highest = rng.normal(*rows) * size.apart + rng.normal(size.rows) * 100
    if size.none:
        nothing = (rng.integers(0, 3, *rows) == 0) | (rng.integers(0, 4, size.rows) == 0)
        highest.masked_fill_(nothing, -torch.inf)
        sums.masked_fill_(nothing, 0)
        outputs.masked_fill_(nothing.unsqueeze(-1), torch.nan)
    return Call(
        buffers={
            "outputs": outputs,
            "max": highest,
            "sum": sums,
            "out": rng.half(size.rows, size.head_dim),
        },
        outputs=("out",),
        arguments=(
            *map(At, ("outputs", "max", "sum", "out")),
            i32(size.parts),
            i32(size.rows),
            i32(size.head_dim),
            STREAM,
        ),
    )


def given_parts(buffers: Buffers) -> Sequence[Part]:
    """Parts without keys have an output of zeros, whatever the buffer holds."""
    outputs = buffers["outputs"].masked_fill(buffers["max"].isneginf().unsqueeze(-1), 0)
    given = zip(outputs, buffers["max"], buffers["sum"], strict=True)
    return [Part(*part) for part in given]


def merge(size: Size, buffers: Buffers) -> None:
    buffers["out"].copy_(reference_attention.merge_parts(given_parts(buffers)))
