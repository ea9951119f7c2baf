"""A whole context in buckets of exactly its size, without a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from common.serving.bucketed.backends import Backend
from common.serving.bucketed.layer import CAPACITY_STEP
from common.serving.bucketed.memory import token_bytes
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.quantizing import row_bytes
from common.serving.bucketed.views import BucketView
from common.serving.bucketed.widths import WIDTHS

if TYPE_CHECKING:
    import torch

Buckets = tuple[BucketView, ...]


def stored(
    backend: Backend,
    keys: torch.Tensor,
    values: torch.Tensor,
    widths: Integers,
    scale_dtype: torch.dtype,
) -> Buckets:
    """fp16 keys and values [batch, kv_heads, tokens, head_dim], each token at its width [batch, tokens]."""
    batch, _, tokens, _ = keys.shape
    used = [bits for bits in WIDTHS if (widths == bits).any()]
    buckets = tuple(_empty(backend, keys, (widths == bits).sum(1), bits, scale_dtype) for bits in used)
    for sequence in range(batch):
        places = np.empty((tokens, 4), dtype=np.int64)  # bucket, sequence, entry, slot
        places[:, 1], places[:, 3] = sequence, np.arange(tokens)
        for number, bits in enumerate(used):
            members = np.flatnonzero(widths[sequence] == bits)
            places[members, 0], places[members, 2] = number, np.arange(len(members))
        backend.store(buckets, keys[sequence].transpose(0, 1), values[sequence].transpose(0, 1), places)
    return buckets


def _empty(
    backend: Backend, keys: torch.Tensor, lengths: Integers, bits: int, scale_dtype: torch.dtype
) -> BucketView:
    import torch

    batch, kv_heads, _, head_dim = keys.shape
    capacity = -(-int(lengths.max()) // CAPACITY_STEP) * CAPACITY_STEP
    rows = (batch, kv_heads, capacity)
    payload = (*rows, row_bytes(bits, head_dim))
    slots = backend.empty(f"slots_{bits}_bit", (batch, capacity), torch.int32)
    return BucketView(
        bits,
        keys=backend.empty(f"keys_{bits}_bit", payload, torch.uint8),
        values=backend.empty(f"values_{bits}_bit", payload, torch.uint8),
        key_scales=backend.empty(f"key_scales_{bits}_bit", rows, scale_dtype),
        value_scales=backend.empty(f"value_scales_{bits}_bit", rows, scale_dtype),
        slots=slots,
        token_ids=slots,
        lengths=tuple(lengths.tolist()),
    )


def cache_bytes(buckets: Buckets) -> int:
    """Payload and scales of all tokens: what attention must read."""
    total = 0
    for bucket in buckets:
        kv_heads, head_dim = bucket.keys.shape[1], bucket.keys.shape[3] * 8 // bucket.bits
        total += sum(bucket.lengths) * token_bytes(bucket.bits, kv_heads, head_dim, bucket.scale_bytes)
    return total
