"""Attention over the FP16 cache, and how far another attention is from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.serving.bucketed.quantizing import dequantize, quantize_and_pack
from common.serving.bucketed.widths import WIDTHS

if TYPE_CHECKING:
    import torch

    from common.serving.bucketed.views import BucketView

_PIECE_BYTES = 1 << 30  # of keys in fp32


def exact_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """float32 [batch, heads, head_dim], and the weight of each key summed over the heads, [batch, keys].

    Keys and values are [batch, tokens, kv_heads, head_dim]; arithmetic is float32 over their exact values.
    """
    import torch

    batch, tokens, kv_heads, head_dim = keys.shape
    rows = queries.float().reshape(batch, kv_heads, -1, head_dim)
    step = max(1, _PIECE_BYTES // (tokens * head_dim * 4))  # heads at a time
    outs, shares = [], torch.zeros(batch, tokens, device=keys.device)
    for sequence in range(batch):
        parts = []
        for first in range(0, kv_heads, step):
            heads = slice(first, first + step)
            some_keys, some_values = (
                side[sequence, :, heads].transpose(0, 1).float() for side in (keys, values)
            )
            scores = rows[sequence, heads] @ some_keys.transpose(1, 2) * head_dim**-0.5
            weights = scores.softmax(-1)
            shares[sequence] += weights.sum((0, 1))
            parts.append((weights @ some_values).flatten(0, 1))
        outs.append(torch.cat(parts))
    return torch.stack(outs), shares


def row_errors(out: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """For each row, the norm of the difference over the norm of the right answer, as one list."""
    import torch

    difference = torch.linalg.vector_norm(out.double() - wanted.double(), dim=-1)
    return (difference / torch.linalg.vector_norm(wanted.double(), dim=-1)).flatten()


def error_summary(errors: torch.Tensor) -> dict[str, float]:
    """The median and the 95th percentile over rows, rounded for a file."""
    return {
        "error_median": float(f"{errors.quantile(0.5).item():.4g}"),
        "error_95": float(f"{errors.quantile(0.95).item():.4g}"),
    }


def quantized_at(heads: torch.Tensor, widths: torch.Tensor) -> torch.Tensor:
    """fp16 heads [batch, tokens, kv_heads, head_dim], quantised once and dequantised to float32, each token
    at its width [batch, tokens]. A width of 0 gives zeros."""
    import torch

    kept = torch.zeros(heads.shape, dtype=torch.float32, device=heads.device)
    for bits in WIDTHS:
        chosen = widths == bits
        kept[chosen] = dequantize(*quantize_and_pack(heads[chosen], bits), bits)
    return kept


def held_by(buckets: tuple[BucketView, ...], tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a cache holds, dequantised and by slot: keys and values [batch, tokens, kv_heads, head_dim]."""
    import torch

    batch, kv_heads, _, packed_bytes = buckets[0].keys.shape
    head_dim = packed_bytes * 8 // buckets[0].bits
    device = buckets[0].keys.device
    keys, values = (torch.zeros(batch, tokens, kv_heads, head_dim, device=device) for _ in range(2))
    for bucket in buckets:
        for sequence, length in enumerate(bucket.lengths):
            slots = bucket.slots[sequence, :length].long()
            sides = ((keys, bucket.keys, bucket.key_scales), (values, bucket.values, bucket.value_scales))
            for held, payload, scales in sides:
                heads = dequantize(payload[sequence, :, :length], scales[sequence, :, :length], bucket.bits)
                held[sequence, slots] = heads.transpose(0, 1)
    return keys, values
