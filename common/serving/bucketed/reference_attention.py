"""Attention over dequantised buckets, in torch and in any float type: what the kernels are held against.

Queries are [batch, kv_heads · group, head_dim]; a part is unnormalised, so that parts can be merged. Keys are
taken in pieces: the memory this needs does not grow with the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from common.serving.bucketed.quantizing import dequantize
from common.serving.bucketed.views import BucketView
from common.serving.half_precision import product

if TYPE_CHECKING:
    import torch

# Of one piece of dequantised keys. Unpacking takes several times as much for a moment: on a CPU that stays in
# its caches, on a GPU the many small kernels of small pieces would take longer.
_PIECE_BYTES = {"cpu": 4 << 20, "cuda": 64 << 20}


class Part(NamedTuple):
    """Σ e^(s-m) v, m = max s and Σ e^(s-m) over the visible keys; 0, -inf and 0 where there are none."""

    out: torch.Tensor  # [batch, heads, head_dim]
    max: torch.Tensor  # [batch, heads]
    sum: torch.Tensor  # [batch, heads]


class _Piece(NamedTuple):
    scores: torch.Tensor  # [batch, kv_heads, group, keys], -inf where hidden
    keys: slice  # of the bucket's entries
    used: torch.Tensor  # bool [batch, keys]


def attention(
    queries: torch.Tensor,
    buckets: Sequence[BucketView],
    mask: torch.Tensor | None,
    scale: float,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Softmax attention over all buckets, [batch, heads, head_dim]; a row that sees no key is 0.

    Queries, keys and values are rounded to `dtype` (float32 by default) and multiplied in it. Scores, sums
    and the result are never less than float32, as in attention kernels. `mask` is [batch, slots]; 0 hides.
    """
    return merge_parts(attend_buckets(queries, buckets, mask, scale, dtype))


def attend_buckets(
    queries: torch.Tensor,
    buckets: Sequence[BucketView],
    mask: torch.Tensor | None,
    scale: float,
    dtype: torch.dtype | None = None,
) -> list[Part]:
    return [attend_bucket(queries, bucket, mask, scale, dtype) for bucket in buckets]


def attend_bucket(
    queries: torch.Tensor,
    bucket: BucketView,
    mask: torch.Tensor | None,
    scale: float,
    dtype: torch.dtype | None = None,
    *,
    sums_alone: bool = False,
) -> Part:
    """With `sums_alone`, its output stays zeros: that is half of the work."""
    import torch

    dtype = dtype or torch.float32
    batch, heads, head_dim = queries.shape
    kv_heads = bucket.keys.shape[1]
    shape = (batch, kv_heads, heads // kv_heads)
    kept = {"dtype": _accumulator(dtype), "device": queries.device}
    out = torch.zeros(*shape, head_dim, **kept)
    largest = torch.full(shape, -torch.inf, **kept)
    total = torch.zeros(shape, **kept)
    for piece in _pieces(queries, bucket, mask, scale, dtype):
        new = torch.maximum(largest, piece.scores.amax(-1))
        reference = _finite(new)
        weights = torch.exp(piece.scores - reference.unsqueeze(-1))
        shrink = torch.exp(largest - reference)
        total = total * shrink + weights.sum(-1)
        largest = new
        if sums_alone:
            continue
        values = _dequantized(bucket.values, bucket.value_scales, bucket.bits, piece.keys, piece.used, dtype)
        out = out * shrink.unsqueeze(-1) + product(weights.to(dtype), values).to(out.dtype)
    return Part(out.flatten(1, 2), largest.flatten(1), total.flatten(1))


def score_bucket(
    queries: torch.Tensor,
    bucket: BucketView,
    mask: torch.Tensor | None,
    scale: float,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """The score of each entry, [batch, heads, capacity]: -inf where it is hidden and past the end."""
    import torch

    dtype = dtype or torch.float32
    batch, heads, _ = queries.shape
    kv_heads, capacity = bucket.keys.shape[1:3]
    shape = (batch, kv_heads, heads // kv_heads, capacity)
    scores = torch.full(shape, -torch.inf, dtype=_accumulator(dtype), device=queries.device)
    for piece in _pieces(queries, bucket, mask, scale, dtype):
        scores[..., piece.keys] = piece.scores
    return scores.flatten(1, 2)


def merge_parts(parts: Sequence[Part]) -> torch.Tensor:
    """The attention whose keys the parts have shared out: rescaled to one maximum, added, normalised."""
    import torch

    largest, total = normaliser(parts)
    out = sum(part.out * torch.exp(part.max - largest).unsqueeze(-1) for part in parts)
    return out / torch.where(total == 0, torch.ones_like(total), total).unsqueeze(-1)


def normaliser(parts: Sequence[Part]) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest score of each row over all parts (0 where it sees no key), and the sum relative to it."""
    import torch

    largest = _finite(torch.stack([part.max for part in parts]).amax(0))
    total = torch.stack([part.sum * torch.exp(part.max - largest) for part in parts]).sum(0)
    return largest, total


def slot_weights(
    queries: torch.Tensor,
    buckets: Sequence[BucketView],
    parts: Sequence[Part],
    mask: torch.Tensor | None,
    scale: float,
    slots: int,
) -> torch.Tensor:
    """[batch, slots]: the normalised weight each slot got, summed over the heads. `parts` are those of the
    same attention."""
    import torch

    largest, total = normaliser(parts)
    total = torch.where(total == 0, torch.ones_like(total), total)
    weights = torch.zeros(queries.shape[0], slots, dtype=total.dtype, device=queries.device)
    for bucket in buckets:
        for piece in _pieces(queries, bucket, mask, scale, total.dtype):
            shared = torch.exp(piece.scores.flatten(1, 2) - largest.unsqueeze(-1)) / total.unsqueeze(-1)
            weights.scatter_add_(1, _slots(bucket, piece.keys, piece.used), shared.sum(1))
    return weights


def _pieces(
    queries: torch.Tensor, bucket: BucketView, mask: torch.Tensor | None, scale: float, dtype: torch.dtype
) -> Iterator[_Piece]:
    """The scores of a bucket's keys, a piece at a time."""
    import torch

    longest = max(bucket.lengths)
    if longest == 0:
        return
    batch, heads, head_dim = queries.shape
    kv_heads = bucket.keys.shape[1]
    rows = queries.to(dtype).reshape(batch, kv_heads, heads // kv_heads, head_dim)
    lengths = torch.tensor(bucket.lengths, device=queries.device).unsqueeze(1)
    step = max(1, _PIECE_BYTES[queries.device.type] // (batch * kv_heads * head_dim * 8))
    for start in range(0, longest, step):
        keys = slice(start, min(start + step, longest))
        used = torch.arange(keys.start, keys.stop, device=queries.device) < lengths
        visible = used
        if mask is not None:
            visible = used & (mask.gather(1, _slots(bucket, keys, used)) != 0)
        heads_of_keys = _dequantized(bucket.keys, bucket.key_scales, bucket.bits, keys, used, dtype)
        scores = product(rows, heads_of_keys.transpose(-1, -2)).to(_accumulator(dtype)) * scale
        yield _Piece(scores.masked_fill_(~visible[:, None, None], -torch.inf), keys, used)


def _dequantized(
    packed: torch.Tensor,
    scales: torch.Tensor,
    bits: int,
    keys: slice,
    used: torch.Tensor,
    dtype: torch.dtype,
) -> torch.Tensor:
    # An unused entry may hold a scale of NaN, and NaN times a weight of 0 is NaN.
    known = scales[:, :, keys].masked_fill(~used.unsqueeze(1), 0)
    return dequantize(packed[:, :, keys], known, bits, dtype)


def _slots(bucket: BucketView, keys: slice, used: torch.Tensor) -> torch.Tensor:
    """The slots of some entries as indices; unused ones, whose slot is anything, point at 0."""
    return bucket.slots[:, keys].masked_fill(~used, 0).long()


def _finite(largest: torch.Tensor) -> torch.Tensor:
    """A maximum to subtract: -inf minus -inf would be NaN."""
    return largest.masked_fill(largest.isneginf(), 0)


def _accumulator(dtype: torch.dtype) -> torch.dtype:
    import torch

    return torch.promote_types(dtype, torch.float32)
