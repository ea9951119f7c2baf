"""The memory layout of a case, and the right result of attention over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.serving.half_precision import attention
from grader.spec import STREAM, Argument, At, Buffers, Call, HostTable, Size, f32, i32, i64
from grader.spec.random_inputs import Random

from .shapes import is_far, softmax_scale, strides

if TYPE_CHECKING:
    import torch

TENSORS = ("queries", "keys", "values", "out")
# From this size on, queries and keys are whole numbers. Scores are then in the thousands, and sums of 32 bits
# round them by so much that the weights of two nearly equal scores would be anybody's guess. Sums of whole
# numbers are exact in any order.
_WHOLE_FROM = 10.0


def _random(size: Size, rng: Random, name: str) -> torch.Tensor:
    """A tensor with its gaps, which hold random numbers too. Where rows are far apart, the rows alone."""
    import torch

    far = is_far(size.gap)
    wild = size.size / 10 if name in ("queries", "keys") else 1.0
    made = rng.normal(*_rows(size), size.head_dim + (0 if far else _gap(size, name)), scale=wild)
    if wild >= _WHOLE_FROM:
        made.round_()
    return (made.flatten(0, 2) if far else made).to(torch.bfloat16 if size.bfloat16 else torch.float16)


def _rows(size: Size) -> tuple[int, int, int]:
    """How many there are, in the order in which they lie."""
    return (size.batch, *((size.length, size.heads) if size.rows_apart else (size.heads, size.length)))


def _gap(size: Size, name: str) -> int:
    return size.gap if name != "out" or is_far(size.gap) else 0


def _apart(size: Size) -> dict[str, int]:
    return dict.fromkeys(TENSORS, size.head_dim + size.gap) if is_far(size.gap) else {}


def tensor_arguments(size: Size) -> tuple[Argument, ...]:
    rows = (tuple(i64(stride) for stride in strides(size, _gap(size, name))) for name in TENSORS)
    return (*(At(name) for name in TENSORS), HostTable(tuple(rows)))


def inputs(size: Size, rng: Random) -> Call:
    return Call(
        {name: _random(size, rng, name) for name in TENSORS},
        ("out",),
        (
            *tensor_arguments(size),
            *(i32(getattr(size, name)) for name in ("batch", "heads", "length", "head_dim")),
            f32(softmax_scale(size)),
            i32(size.causal),
            i32(size.bfloat16),
            STREAM,
        ),
        apart=_apart(size),
    )


def step_inputs(size: Size, rng: Random) -> Call:
    """The steps are in half precision, with heads of 64: neither is an argument."""
    return Call(
        {name: _random(size, rng, name) for name in TENSORS},
        ("out",),
        (
            *tensor_arguments(size),
            *(i32(getattr(size, name)) for name in ("batch", "heads", "length")),
            f32(softmax_scale(size)),
            i32(size.causal),
            STREAM,
        ),
        apart=_apart(size),
    )


def heads_of(size: Size, tensor: torch.Tensor) -> torch.Tensor:
    """As [batch, head, row, element], without the gaps: a view."""
    inner = (tensor.unflatten(0, _rows(size)) if is_far(size.gap) else tensor)[..., : size.head_dim]
    return inner.transpose(1, 2) if size.rows_apart else inner


def reference(size: Size, buffers: Buffers) -> None:
    """Torch's own attention, in the type of the buffers."""
    query, key, value = (heads_of(size, buffers[name]) for name in TENSORS[:3])
    found = attention(query, key, value, causal=bool(size.causal), scale=softmax_scale(size))
    heads_of(size, buffers["out"]).copy_(found)
