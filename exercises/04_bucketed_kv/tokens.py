"""Tokens that go into buckets, and from one bucket to another: inputs of the first two steps, and their right
results, bit by bit.

Sizes of a case beside those of shapes.py, with tokens counted over all sequences:
    token_gap, head_gap   elements between the heads and between the tokens of the source
    head_major     1: the source has all tokens of a head together
    shift          elements before the first one: with an odd one, no 16 bytes of the source are aligned
    scattered      1: entries are anywhere in their bucket; 0: in the order of the tokens, as after a prefill
    moves          tokens that change their width
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.serving.bucketed.memory import token_bytes
from common.serving.bucketed.quantizing import quantize_and_pack, requantize
from grader.spec import STREAM, At, Buffers, Call, Case, Size, Words, cases_with, i32, i64
from grader.spec.random_inputs import Random

from .layout import bucket_names, bucket_table, filled_bucket, name_of, scale_type
from .shapes import ALL_BUCKETS, NO_TOKENS, WORDS, Tokens, keys_of, mixed, named, tokens_of, widths

if TYPE_CHECKING:
    import torch

_PLACE, _MOVE = 4, 6  # numbers of a row
# The byte, or the three bytes, in which every element is 0.
_ZEROS = {2: (0xAA,), 3: (0x24, 0x49, 0x92), 4: (0x88,), 8: (0x80,)}
_LARGEST_SCALE = 400.0  # with 128 times as much, a scale would still be finite in half precision
_LARGEST_OF_8_BITS = 516.0  # of the largest half: with 127 times as much, a scale would be infinite there


_storing = cases_with(
    WORDS,
    batch=1,
    kv_heads=2,
    head_dim=128,
    **named(NO_TOKENS),
    buckets=ALL_BUCKETS,
    scale_bytes=4,
    token_gap=0,
    head_gap=0,
    head_major=0,
    shift=0,
    scattered=1,
)


def storing(name: str, *, tokens: Tokens = NO_TOKENS, **sizes: int) -> Case:
    return _storing(name, **named(tokens), **sizes)


def prefill(tokens: int, kv_heads: int, *, gpu_only: bool = False) -> Case:
    """A long prompt to be stored in the cache, at a quarter of FP16's bytes."""
    name = f"{tokens:,} tokens × {kv_heads} heads"
    return storing(name, kv_heads=kv_heads, scattered=0, gpu_only=gpu_only, tokens=mixed(tokens, 25))


_MOVE_WORDS: Words = {
    "moves": "moves: {:,}",
    "batch": "batch: {}",
    "kv_heads": "heads of keys: {}",
    "head_dim": "head_dim: {}",
    "scale_bytes": {2: "scales of 2 bytes"},
    "largest": {1: "scales of the largest half"},
}


_moving = cases_with(
    _MOVE_WORDS, moves=0, batch=1, kv_heads=2, head_dim=128, buckets=ALL_BUCKETS, scale_bytes=4, largest=0
)


def moving(name: str, moves: int, **sizes: int) -> Case:
    return _moving(name, moves=moves, **sizes)


def strides(size: Size) -> tuple[int, int]:
    """From token to token and from head to head of the source, in elements."""
    head = size.head_dim + size.head_gap
    if size.head_major:
        return head, keys_of(size) * head + size.token_gap
    return size.kv_heads * head + size.token_gap, head


def room(size: Size, number: int) -> int:
    """Entries of a bucket: for all tokens, and some more. No two buckets have the same."""
    return (keys_of(size) // 64 + 2 + number) * 64


def source_heads(size: Size, source: torch.Tensor) -> torch.Tensor:
    """The elements of a source that count, [tokens, kv_heads, head_dim]."""
    shape = (keys_of(size), size.kv_heads, size.head_dim)
    return source.as_strided(shape, (*strides(size), 1), size.shift)


def places(size: Size, rng: Random) -> torch.Tensor:
    """[tokens, 4]: bucket, sequence, entry, slot. Tokens of the widths come in no order."""
    import torch

    tokens = keys_of(size)
    found = torch.zeros(tokens, _PLACE, dtype=torch.int32, device=rng.device)
    order = rng.distinct(tokens, tokens).long()
    begin = 0
    for number, bits in enumerate(widths(size)):
        count = tokens_of(size, bits)
        mine = order[begin : begin + count].sort().values
        found[mine, 0] = number
        entries = rng.distinct(count, room(size, number)) if size.scattered else torch.arange(count).to(found)
        found[mine, 2] = entries
        begin += count
    found[:, 1] = rng.integers(0, size.batch, tokens)
    found[:, 3] = rng.distinct(tokens, tokens)
    return found


def source(size: Size, rng: Random, placed: torch.Tensor) -> torch.Tensor:
    """Heads of every kind, and in the gaps between them other numbers."""
    token_stride, head_stride = strides(size)
    last = (keys_of(size) - 1) * token_stride + (size.kv_heads - 1) * head_stride + size.head_dim
    made = rng.half(size.shift + last)
    heads = source_heads(size, made)
    kinds = rng.integers(0, 7, keys_of(size), size.kv_heads, 1)
    usual = rng.normal(*heads.shape)
    for kind, values in enumerate(
        (usual, usual * 100, _ties(size, rng, placed), _one_large(rng, usual), usual * 0, _tiny(rng, usual))
    ):
        # Kind 6 stays: numbers of every size, as far as half precision goes.
        heads.copy_(heads.where(kinds != kind, values.to(heads.dtype)))
    return made


def _ties(size: Size, rng: Random, placed: torch.Tensor) -> torch.Tensor:
    """The largest element is a level, and all others lie in the middle between two."""
    import torch

    bits = torch.tensor(widths(size), device=rng.device)[placed[:, 0].long()].view(-1, 1, 1)
    levels = (1 << (bits - 1)) - 1
    shape = (keys_of(size), size.kv_heads, size.head_dim)
    found = rng.integers(0, 1 << 20, *shape) % (2 * levels) - levels + 0.5
    found[..., rng.number(0, size.head_dim - 1)] = levels[..., 0].float()
    return found * torch.exp2(rng.integers(-8, 5, *shape[:2], 1).float())


def _one_large(rng: Random, usual: torch.Tensor) -> torch.Tensor:
    """One element decides the scale."""
    found = usual * 2**-6
    found[..., rng.number(0, usual.shape[-1] - 1)] *= 2**11
    return found


def _tiny(rng: Random, usual: torch.Tensor) -> torch.Tensor:
    """In half precision a scale of these would be 0, or so coarse that the largest element has no level."""
    import torch

    return usual * torch.exp2(rng.integers(-22, -16, *usual.shape[:2], 1).float())


def storing_inputs(size: Size, rng: Random) -> Call:
    placed = places(size, rng)
    made = {"keys": source(size, rng, placed), "values": source(size, rng, placed), "places": placed}
    for bits, entries in _rooms(size).items():
        made |= filled_bucket(size, rng, bits, entries)
    token_stride, head_stride = strides(size)
    return Call(
        buffers=made,
        outputs=bucket_names(size),
        arguments=(
            At("keys", size.shift),
            At("values", size.shift),
            i64(token_stride),
            i64(head_stride),
            bucket_table(size, _rooms(size)),
            i32(len(widths(size))),
            At("places"),
            i32(keys_of(size)),
            i32(size.kv_heads),
            i32(size.head_dim),
            STREAM,
        ),
    )


def _rooms(size: Size) -> dict[int, int]:
    return {bits: room(size, number) for number, bits in enumerate(widths(size))}


def store(size: Size, buffers: Buffers) -> None:
    """Every token to its place."""
    placed = buffers["places"].long()
    for number, bits in enumerate(widths(size)):
        mine = (placed[:, 0] == number).nonzero().flatten()
        sequence, entry = placed[mine, 1], placed[mine, 2]
        for what, scales in (("keys", "key_scales"), ("values", "value_scales")):
            heads = source_heads(size, buffers[what])[mine]
            packed, scale = quantize_and_pack(heads, bits, scale_type(size))
            buffers[name_of(what, bits)][sequence, :, entry] = packed
            buffers[name_of(scales, bits)][sequence, :, entry] = scale
        buffers[name_of("slots", bits)][sequence, entry] = placed[mine, 3].int()


def stored_bytes(size: Size) -> int:
    """Sources and places are read; payloads, scales and slots are written."""
    tokens = keys_of(size)
    written = sum(
        tokens_of(size, bits) * token_bytes(bits, size.kv_heads, size.head_dim, size.scale_bytes)
        for bits in widths(size)
    )
    return 2 * 2 * tokens * size.kv_heads * size.head_dim + written + 4 * tokens * (_PLACE + 1)


def moves(size: Size, rng: Random) -> torch.Tensor:
    """[moves, 6]: sequence, bucket and entry from, bucket and entry to, 0. No destination is a source: each
    entry of a bucket is used once. The first moves take the last rows in memory: nothing lies behind them."""
    import torch

    count, buckets = size.moves, len(widths(size))
    found = torch.zeros(count, _MOVE, dtype=torch.int32, device=rng.device)
    found[:, 0] = rng.integers(0, size.batch, count)
    found[:, 1] = rng.integers(0, buckets, count)
    entries = torch.stack([rng.distinct(2 * count, entries_for(size, number)) for number in range(buckets)])
    for number in range(min(buckets, count)):
        found[number, :2] = torch.tensor([size.batch - 1, number])
        last = entries_for(size, number) - 1
        entries[number, entries[number] == last] = entries[number, number].clone()
        entries[number, number] = last
    found[:, 3] = (found[:, 1] + rng.integers(1, buckets, count)) % buckets
    numbers = torch.arange(count, device=rng.device)
    found[:, 2] = entries[found[:, 1].long(), numbers]
    found[:, 4] = entries[found[:, 3].long(), count + numbers]
    return found


def entries_for(size: Size, number: int) -> int:
    """Of a bucket, where any move may begin or end. No two have the same."""
    return (2 * size.moves // 64 + 1 + number) * 64


def moving_inputs(size: Size, rng: Random) -> Call:
    import torch

    made = {"moves": moves(size, rng)}
    entries = {bits: entries_for(size, number) for number, bits in enumerate(widths(size))}
    for bits in widths(size):
        bucket = filled_bucket(size, rng, bits, entries[bits])
        rows = (size.batch, size.kv_heads, entries[bits])
        for what, scales in (("keys", "key_scales"), ("values", "value_scales")):
            # Scales of every size, and now and then a head of zeros.
            factors = rng.normal(*rows, scale=3).exp_()
            scale = (bucket[name_of(scales, bits)] * factors).clamp_max_(_LARGEST_SCALE)
            if size.largest and bits == 8:
                scale.fill_(_LARGEST_OF_8_BITS)
            bucket[name_of(scales, bits)] = scale.to(scale_type(size)).clamp_min_(2**-24)
            packed = bucket[name_of(what, bits)]
            zeros = torch.tensor(_ZEROS[bits], dtype=torch.uint8, device=rng.device)
            zeros = zeros.repeat(packed.shape[-1] // len(zeros))
            bucket[name_of(what, bits)] = packed.where(rng.integers(0, 9, *rows, 1) > 0, zeros)
        made |= bucket
    return Call(
        buffers=made,
        outputs=bucket_names(size),
        arguments=(
            bucket_table(size, entries),
            i32(len(widths(size))),
            At("moves"),
            i32(size.moves),
            i32(size.kv_heads),
            i32(size.head_dim),
            STREAM,
        ),
    )


def move(size: Size, buffers: Buffers) -> None:
    """Every token to its new width; what lies at its old entry stays there."""
    rows = buffers["moves"].long()
    for number, bits in enumerate(widths(size)):
        for other, to_bits in enumerate(widths(size)):
            mine = rows[(rows[:, 1] == number) & (rows[:, 3] == other)]
            sequence, entry, to_entry = mine[:, 0], mine[:, 2], mine[:, 4]
            for what, scales in (("keys", "key_scales"), ("values", "value_scales")):
                packed, scale = requantize(
                    buffers[name_of(what, bits)][sequence, :, entry],
                    buffers[name_of(scales, bits)][sequence, :, entry],
                    bits,
                    to_bits,
                )
                buffers[name_of(what, to_bits)][sequence, :, to_entry] = packed
                buffers[name_of(scales, to_bits)][sequence, :, to_entry] = scale
            slots = buffers[name_of("slots", bits)][sequence, entry]
            buffers[name_of("slots", to_bits)][sequence, to_entry] = slots
