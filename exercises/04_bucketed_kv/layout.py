"""The memory layout of a case: buckets, queries, masks; and the right result of attention over them.

Payloads are random bytes, so that every bit pattern occurs in every place, and scales are random: nothing is
quantised to make them. What lies past the end of a bucket looks like more of the same, and is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from common.serving.bucketed import reference_attention
from common.serving.bucketed.kernel_backend import MOST_PARTS
from common.serving.bucketed.quantizing import row_bytes
from common.serving.bucketed.views import BucketView
from grader.spec import STREAM, Argument, At, Buffers, Call, HostTable, Size, f32, i32, i64
from grader.spec.random_inputs import Random

from .shapes import capacity, held, is_far, keys_of, lengths, widths

if TYPE_CHECKING:
    import torch


ARRAYS = ("keys", "values", "key_scales", "value_scales", "slots")  # of a bucket, in the order of its struct
_PACKED = ("keys", "values")
_MASK_GAP = 3  # bytes between the rows of a mask
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1
_PAST_THE_END = 50.0  # times the size of a scale in use


def name_of(array: str, bits: int) -> str:
    return f"{array}_{bits}"


def bucket_names(size: Size) -> tuple[str, ...]:
    return tuple(name_of(array, bits) for bits in widths(size) for array in ARRAYS)


def bucket_table(size: Size, capacity_of: Mapping[int, int]) -> HostTable:
    """The Bucket of each width."""
    return HostTable(
        tuple(
            (
                *(At(name_of(array, bits)) for array in ARRAYS),
                i64(capacity_of[bits]),
                i64(bits),
                i64(size.scale_bytes),
            )
            for bits in widths(size)
        ),
        "buckets",
        (*ARRAYS, "capacity", "bits", "scale_bytes"),
    )


def random_bytes(rng: Random, *shape: int) -> torch.Tensor:
    return rng.bytes(math.prod(shape)).view(shape)


def scale_type(size: Size) -> torch.dtype:
    import torch

    return torch.float32 if size.scale_bytes == 4 else torch.float16


def random_scales(rng: Random, size: Size, bits: int, *shape: int) -> torch.Tensor:
    """Such that elements have a spread of about 1, some heads more and others less."""
    usual = 12**0.5 / (1 << bits)
    return rng.normal(*shape, scale=0.25).exp_().mul_(usual).to(scale_type(size))


def filled_bucket(size: Size, rng: Random, bits: int, entries: int) -> dict[str, torch.Tensor]:
    """The arrays of a bucket, filled with random tokens and random slots."""
    rows = (size.batch, size.kv_heads, entries)
    return {
        name_of("keys", bits): random_bytes(rng, *rows, row_bytes(bits, size.head_dim)),
        name_of("values", bits): random_bytes(rng, *rows, row_bytes(bits, size.head_dim)),
        name_of("key_scales", bits): random_scales(rng, size, bits, *rows),
        name_of("value_scales", bits): random_scales(rng, size, bits, *rows),
        name_of("slots", bits): rng.integers(_LOWEST, _HIGHEST, size.batch, entries),
    }


def buckets(size: Size, rng: Random) -> dict[str, torch.Tensor]:
    made: dict[str, torch.Tensor] = {}
    for number, bits in enumerate(widths(size)):
        made |= filled_bucket(size, rng, bits, held(size, bits))
        made[name_of("value_scales", bits)].mul_(2.0**size.value_power)
        for sequence, row in enumerate(lengths(size)):
            for array in ("key_scales", "value_scales"):
                unused = made[name_of(array, bits)][sequence, :, row[number] :]
                unused.fill_(float("nan")) if size.strange else unused.mul_(_PAST_THE_END)
    for sequence, row in enumerate(lengths(size)):
        # A token of any bucket may be anywhere in its sequence.
        order = rng.distinct(sum(row), sum(row))
        for bits, slots in zip(widths(size), order.split(row), strict=True):
            made[name_of("slots", bits)][sequence, : len(slots)] = slots
    if not is_far(size):
        return made
    return {name: tensor if tensor.dim() == 2 else _head_by_head(tensor) for name, tensor in made.items()}


def _head_by_head(tensor: torch.Tensor) -> torch.Tensor:
    """A row for each head of a sequence; apart() says how far it is from the next."""
    return tensor.flatten(0, 1).flatten(1)


def apart(size: Size) -> dict[str, int]:
    """How far the rows of the buckets' buffers lie apart, where that is far."""
    if not is_far(size):
        return {}
    return {
        name_of(array, bits): capacity(size, bits)
        * (row_bytes(bits, size.head_dim) if array in _PACKED else 1)
        for bits in widths(size)
        for array in ARRAYS
    }


def array_of(size: Size, buffers: Buffers, array: str, bits: int) -> torch.Tensor:
    """[batch, kv_heads, entries, bytes] of keys and values, [batch, kv_heads, entries] of scales, [batch,
    entries] of slots: those entries that are in memory."""
    tensor = buffers[name_of(array, bits)]
    if not is_far(size) or array == "slots":
        return tensor
    heads = tensor.unflatten(0, (size.batch, size.kv_heads))
    return heads.unflatten(2, (held(size, bits), -1)) if array in _PACKED else heads


def mask(size: Size, rng: Random) -> torch.Tensor:
    """A mask by slot; without one, a buffer that has no memory."""
    import torch

    if size.mask == 0:
        return torch.zeros(0, dtype=torch.uint8, device=rng.device)
    found = rng.integers(0, 3, size.batch, keys_of(size) + _MASK_GAP).to(torch.uint8)
    if size.mask == 2:
        found[-1] = 0
    return found


def heads_of(size: Size) -> int:
    """Query heads of a sequence."""
    return size.kv_heads * size.group


def softmax_scale(size: Size) -> float:
    return float(np.float32(size.head_dim**-0.5))


def queries(size: Size, rng: Random) -> torch.Tensor:
    import torch

    rows = (size.batch, heads_of(size))
    spread = rng.normal(*rows, 1, scale=0.25).exp_() * (size.sharp / 10)
    return (rng.normal(*rows, size.head_dim) * spread).to(torch.float16)


def working_room(size: Size, rng: Random) -> dict[str, torch.Tensor]:
    """Scratch for parts, whose values mean nothing, and counters, which are zeros before and after."""
    import torch

    parts = MOST_PARTS * size.batch * heads_of(size) * (size.head_dim + 2)
    return {
        "scratch": torch.empty(parts, dtype=torch.float32, device=rng.device),
        "counters": torch.zeros(size.batch * size.kv_heads, dtype=torch.int32, device=rng.device),
    }


def read_by_attention(size: Size, rng: Random) -> dict[str, torch.Tensor]:
    return {"queries": queries(size, rng), **buckets(size, rng), "mask": mask(size, rng)}


def cache_arguments(size: Size) -> tuple[HostTable, HostTable]:
    """The buckets, and their lengths by sequence."""
    table = bucket_table(size, {bits: capacity(size, bits) for bits in widths(size)})
    return table, HostTable(tuple(tuple(map(i64, row)) for row in lengths(size)))


def mask_arguments(size: Size) -> tuple[Argument, ...]:
    return At("mask"), i64(keys_of(size) + _MASK_GAP if size.mask else 0)


def room_arguments(made: Buffers) -> tuple[Argument, ...]:
    return At("scratch"), i64(made["scratch"].nbytes), At("counters")


def size_arguments(size: Size) -> tuple[Argument, ...]:
    sizes = (size.batch, size.kv_heads, size.group, size.head_dim)
    return *map(i32, sizes), f32(softmax_scale(size)), STREAM


def inputs(size: Size, rng: Random) -> Call:
    made = {
        **read_by_attention(size, rng),
        "out": rng.half(size.batch, heads_of(size), size.head_dim),
        **working_room(size, rng),
    }
    table, of_sequences = cache_arguments(size)
    return Call(
        buffers=made,
        outputs=("out",),
        scratch=("scratch",),
        arguments=(
            At("queries"),
            table,
            i32(len(widths(size))),
            of_sequences,
            *mask_arguments(size),
            At("out"),
            *room_arguments(made),
            *size_arguments(size),
        ),
        apart=apart(size),
    )


def views(size: Size, buffers: Buffers) -> list[BucketView]:
    """The buckets as the reference takes them."""
    return [
        BucketView(
            bits=bits,
            **{array: array_of(size, buffers, array, bits) for array in ARRAYS},
            token_ids=array_of(size, buffers, "slots", bits),
            lengths=tuple(row[number] for row in lengths(size)),
        )
        for number, bits in enumerate(widths(size))
    ]


def visible_slots(buffers: Buffers) -> torch.Tensor | None:
    return buffers["mask"] if buffers["mask"].numel() else None


def reference(size: Size, buffers: Buffers) -> None:
    """Attention over the dequantised cache, in the type of the queries."""
    rows = buffers["queries"]
    found = reference_attention.attention(
        rows, views(size, buffers), visible_slots(buffers), softmax_scale(size), rows.dtype
    )
    buffers["out"].copy_(found)
