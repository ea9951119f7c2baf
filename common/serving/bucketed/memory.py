"""Bytes of a cache: what theory says a token takes, and what a layer's tensors hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from common.serving.bucketed.quantizing import row_bytes
from common.serving.bucketed.views import BucketView


def token_bytes(bits: int, kv_heads: int, head_dim: int, scale_bytes: int) -> int:
    """Payload and scales of one token, keys and values."""
    return 2 * kv_heads * (row_bytes(bits, head_dim) + scale_bytes)


def half_token_bytes(kv_heads: int, head_dim: int) -> int:
    """The same token in FP16, which budgets are fractions of."""
    return 2 * kv_heads * 2 * head_dim


@dataclass(frozen=True)
class MemoryStats:
    """Bytes in use on the device, all sequences together."""

    tokens: int
    payload_bytes: int
    scale_bytes: int
    metadata_bytes: int  # slots and token ids
    capacity_bytes: int  # allocated, whether in use or not
    half_bytes: int  # what the same tokens would take in FP16
    payload_values: int  # keys and values in the payload

    @property
    def average_bits(self) -> float:
        """Payload bits of a value."""
        return 8 * self.payload_bytes / self.payload_values if self.tokens else 0.0

    @property
    def budget(self) -> float:
        """Payload and scales as a fraction of FP16."""
        return (self.payload_bytes + self.scale_bytes) / self.half_bytes if self.tokens else 0.0

    @staticmethod
    def total(several: Iterable[MemoryStats]) -> MemoryStats:
        rows = [tuple(vars(stats).values()) for stats in several]
        return MemoryStats(*map(sum, zip(*rows, strict=True)))


def measure(buckets: Sequence[BucketView], head_dim: int) -> MemoryStats:
    """From the tensors themselves: sizes of their elements and shapes, times the entries in use."""
    tokens = payload = scales = metadata = capacity = 0
    for bucket in buckets:
        used = sum(bucket.lengths)
        tokens += used
        payload += used * (_entry_bytes(bucket, "keys") + _entry_bytes(bucket, "values"))
        scales += used * (_entry_bytes(bucket, "key_scales") + _entry_bytes(bucket, "value_scales"))
        metadata += used * (_entry_bytes(bucket, "slots") + _entry_bytes(bucket, "token_ids"))
        capacity += sum(getattr(bucket, name).nbytes for name in _TENSORS)
    kv_heads = buckets[0].keys.shape[1]
    return MemoryStats(
        tokens=tokens,
        payload_bytes=payload,
        scale_bytes=scales,
        metadata_bytes=metadata,
        capacity_bytes=capacity,
        half_bytes=tokens * half_token_bytes(kv_heads, head_dim),
        payload_values=tokens * 2 * kv_heads * head_dim,
    )


_TENSORS = ("keys", "values", "key_scales", "value_scales", "slots", "token_ids")


def _entry_bytes(bucket: BucketView, name: str) -> int:
    """Bytes of one entry of one sequence in one of the bucket's tensors."""
    nbytes: int = getattr(bucket, name).nbytes
    return nbytes // (bucket.capacity * len(bucket.lengths))
