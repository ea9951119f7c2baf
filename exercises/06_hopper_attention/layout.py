"""The memory layout of a case, and the right results: of attention, and of the first two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from common.serving.half_precision import attention
from grader.spec import STREAM, Argument, At, Buffers, Call, HostTable, OnBuffers, Size, f32, i32, i64
from grader.spec.random_inputs import Random

from .shapes import is_far, key_heads, softmax_scale, strides

if TYPE_CHECKING:
    import torch

TENSORS = ("queries", "keys", "values", "out")
# From this size on, queries and keys are whole numbers. Scores are then in the thousands, and sums of 32 bits
# round them by so much that the weights of two nearly equal scores would be anybody's guess. Sums of whole
# numbers are exact in any order.
_WHOLE_FROM = 10.0


def _random(size: Size, rng: Random, heads: int, *, gap: int, magnitude: float = 1.0) -> torch.Tensor:
    """A tensor with its gaps, which hold random numbers too. Where rows are far apart, the rows alone."""
    import torch

    far = is_far(gap)
    made = rng.normal(*_rows(size, heads), size.head_dim + (0 if far else gap), scale=magnitude)
    if magnitude >= _WHOLE_FROM:
        made.round_()
    return (made.flatten(0, 2) if far else made).to(torch.bfloat16 if size.bfloat16 else torch.float16)


def _rows(size: Size, heads: int) -> tuple[int, int, int]:
    """How many there are, in the order in which they lie."""
    return (size.batch, *((size.length, heads) if size.rows_apart else (heads, size.length)))


def _gap_of_out(size: Size) -> int:
    return size.gap if is_far(size.gap) else 0


def _apart(size: Size, names: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(names, size.head_dim + size.gap) if is_far(size.gap) else {}


def _tensors(size: Size, rng: Random) -> dict[str, torch.Tensor]:
    magnitude = size.size / 10
    return {
        "queries": _random(size, rng, size.heads, gap=size.gap, magnitude=magnitude),
        "keys": _random(size, rng, key_heads(size), gap=size.gap, magnitude=magnitude),
        "values": _random(size, rng, key_heads(size), gap=size.gap),
        "out": _random(size, rng, size.heads, gap=_gap_of_out(size)),
    }


def _strides(size: Size, *tensors: tuple[int, int]) -> HostTable:
    """Of tensors with so many heads and such gaps."""
    return HostTable(tuple(tuple(i64(stride) for stride in strides(size, *tensor)) for tensor in tensors))


def _all_strides(size: Size) -> HostTable:
    heads, shared = (size.heads, size.gap), (key_heads(size), size.gap)
    return _strides(size, heads, shared, shared, (size.heads, _gap_of_out(size)))


def inputs(size: Size, rng: Random) -> Call:
    return Call(
        _tensors(size, rng),
        ("out",),
        (
            *(At(name) for name in TENSORS),
            _all_strides(size),
            *(
                i32(number)
                for number in (size.batch, size.heads, key_heads(size), size.length, size.head_dim)
            ),
            f32(softmax_scale(size)),
            i32(size.causal),
            i32(size.bfloat16),
            STREAM,
        ),
        apart=_apart(size, TENSORS),
    )


def step_inputs(size: Size, rng: Random) -> Call:
    """Steps 3 and 4 are in half precision, with heads of 64: neither is an argument."""
    return Call(
        _tensors(size, rng),
        ("out",),
        (
            *(At(name) for name in TENSORS),
            _all_strides(size),
            *(i32(getattr(size, name)) for name in ("batch", "heads", "length")),
            f32(softmax_scale(size)),
            i32(size.causal),
            STREAM,
        ),
        apart=_apart(size, TENSORS),
    )


def heads_of(size: Size, tensor: torch.Tensor) -> torch.Tensor:
    """As [batch, head, row, element], without the gaps: a view."""
    if is_far(size.gap):
        tensor = tensor.unflatten(0, _rows(size, len(tensor) // (size.batch * size.length)))
    inner = tensor[..., : size.head_dim]
    return inner.transpose(1, 2) if size.rows_apart else inner


def operands(size: Size, buffers: Buffers) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values, the latter once for each head that shares them."""
    query, *shared = (heads_of(size, buffers[name]) for name in TENSORS[:3])
    key, value = (
        tensor.repeat_interleave(size.sharers, dim=1) if size.sharers > 1 else tensor for tensor in shared
    )
    return query, key, value


def reference(size: Size, buffers: Buffers) -> None:
    """Torch's own attention, in the type of the buffers."""
    query, key, value = operands(size, buffers)
    found = attention(query, key, value, causal=bool(size.causal), scale=softmax_scale(size))
    heads_of(size, buffers["out"]).copy_(found)


def _one_tensor(size: Size, rng: Random, out: torch.Tensor) -> Call:
    arguments: tuple[Argument, ...] = (
        At("tensor"),
        At("out"),
        _strides(size, (size.heads, size.gap)),
        *(i32(getattr(size, name)) for name in ("batch", "heads", "length")),
        STREAM,
    )
    tensor = _random(size, rng, size.heads, gap=size.gap)
    return Call({"tensor": tensor, "out": out}, ("out",), arguments, apart=_apart(size, ("tensor",)))


def copy_inputs(size: Size, rng: Random) -> Call:
    out = rng.normal(size.batch, size.heads, size.length, size.head_dim).half()
    return _one_tensor(size, rng, out)


# What is read of the tensor: [batch, head, row, element].
Read = Callable[[Size, "torch.Tensor"], "torch.Tensor"]


def pieces_by(swizzle: Callable[[torch.Tensor], torch.Tensor]) -> Read:
    """Rows in which the 16-byte piece p comes from place p ^ swizzle(row)."""

    def read(size: Size, tensor: torch.Tensor) -> torch.Tensor:
        import torch

        pieces = heads_of(size, tensor).unflatten(3, (8, -1))
        rows, places = torch.arange(size.length)[:, None], torch.arange(8)[None]
        order = (places ^ swizzle(rows))[:, :, None].expand(pieces.shape)
        return pieces.gather(3, order).flatten(3)

    return read


def heads_and_batches_exchanged(size: Size, tensor: torch.Tensor) -> torch.Tensor:
    """What is outside of the tensor is zero."""
    import torch

    right = heads_of(size, tensor)
    there = min(size.batch, size.heads)
    found = torch.zeros_like(right)
    found[:there, :there] = right[:there, :there].transpose(0, 1)
    return found


def copied_otherwise(read: Read) -> OnBuffers:
    def leave(size: Size, buffers: Buffers) -> None:
        buffers["out"].copy_(read(size, buffers["tensor"]))

    return leave


def summed_otherwise(read: Read) -> OnBuffers:
    def leave(size: Size, buffers: Buffers) -> None:
        out = buffers["out"]
        out.copy_(read(size, buffers["tensor"]).to(out.dtype).sum(dim=2))

    return leave


def copied(size: Size, buffers: Buffers) -> None:
    buffers["out"].copy_(heads_of(size, buffers["tensor"]))


def sum_inputs(size: Size, rng: Random) -> Call:
    return _one_tensor(size, rng, rng.normal(size.batch, size.heads, size.head_dim))


def summed(size: Size, buffers: Buffers) -> None:
    out = buffers["out"]
    out.copy_(heads_of(size, buffers["tensor"]).to(out.dtype).sum(dim=2))
