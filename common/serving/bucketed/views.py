"""What attention and the kernels see of a cache: the tensors of its buckets themselves, and their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class BucketView:
    """The entries of one width. Those from a sequence's length to the capacity hold anything."""

    bits: int
    keys: torch.Tensor  # uint8 [batch, kv_heads, capacity, row_bytes]
    values: torch.Tensor  # the same
    key_scales: torch.Tensor  # float32 or float16 [batch, kv_heads, capacity]
    value_scales: torch.Tensor  # the same
    slots: torch.Tensor  # int32 [batch, capacity], each entry's place in its sequence
    token_ids: torch.Tensor  # the same
    lengths: tuple[int, ...]  # entries in use of each sequence; on the host, where launches are planned

    @property
    def capacity(self) -> int:
        return self.slots.shape[1]

    @property
    def scale_bytes(self) -> int:
        return self.key_scales.element_size()


@dataclass(frozen=True)
class QuantizedView:
    """All of a layer. Laid end to end, the buckets of sequence s put the entries of bucket b at
    offsets[s][b] to offsets[s][b + 1]."""

    buckets: tuple[BucketView, ...]
    offsets: tuple[tuple[int, ...], ...]
