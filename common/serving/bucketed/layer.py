"""One layer's keys and values, each token in the bucket of its width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from common.serving.arguments import ArgumentError, require_device, require_dtype, require_tensor
from common.serving.bucketed.backends import backend_for, on_device
from common.serving.bucketed.checks import real, require_finite, whole
from common.serving.bucketed.memory import MemoryStats, measure
from common.serving.bucketed.placement import Integers, Placement, integers
from common.serving.bucketed.quantizing import dequantize, require_scale_dtype, row_bytes
from common.serving.bucketed.views import BucketView
from common.serving.bucketed.widths import WIDTHS, require_widths

if TYPE_CHECKING:
    import torch

    from common.serving.device import Device

CAPACITY_STEP = 64  # a kernel's tile of keys; it also keeps every head's rows and scales aligned
HEAD_DIMS = range(8, 257, 8)
GROUPS = range(1, 9)
_OF_EACH_HEAD = ("keys", "values", "key_scales", "value_scales")
_OF_EACH_ENTRY = ("slots", "token_ids")


class BucketedCacheLayer:
    """The tokens of `batch` sequences; a slot is a token's place in its sequence.

    `device` is a torch device, where torch does the arithmetic, or a Device, whose kernels do. Buckets begin
    with `capacity` entries for each sequence and double when one is full, up to `most_entries` in use if that
    is given. (A move takes its new entry before it gives up the old one.) Methods take whole batches:
    `sequences`, `slots` and `widths` are on the host, one number for each token or one for all. Each raises
    ArgumentError before anything is changed.
    """

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        head_dim: int,
        device: str | torch.device | Device,
        widths: Sequence[int] = WIDTHS,
        scale_dtype: torch.dtype | None = None,
        capacity: int = CAPACITY_STEP,
        *,
        most_entries: int | None = None,
    ) -> None:
        self.batch = whole("batch", batch, 1)
        self.kv_heads = whole("kv_heads", kv_heads, 1)
        self.head_dim = _require_head_dim(head_dim)
        self.widths = require_widths("widths", widths)
        capacity = _require_capacity(capacity)
        if most_entries is not None:
            most_entries = whole("most_entries", most_entries, 1)
        self.scale_dtype = require_scale_dtype(scale_dtype)
        self.backend = backend_for(device)
        self.placement = Placement(self.batch, self.widths, most_entries)
        self._tensors = [self._allocate(bits, capacity) for bits in self.widths]

    # What is there

    def find(self, sequence: int, slot: int) -> tuple[int, int]:
        """The width and the entry of a slot."""
        return self.placement.find(sequence, slot)

    def slot(self, sequence: int, width: int, entry: int) -> int:
        """The slot that an entry holds."""
        return self.placement.slot(sequence, width, entry)

    @property
    def lengths(self) -> Integers:
        """[batch, widths]: entries in use."""
        return self.placement.lengths.copy()

    def precision_map(self) -> Integers:
        """[batch, slots]: the width of each slot, 0 where there is no token."""
        return self.placement.precision_map()

    def read(self, sequence: int, slot: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of a slot, dequantised: float32 [kv_heads, head_dim]."""
        bits, entry = self.find(sequence, slot)
        tensors = self._tensors[self.widths.index(bits)]
        here = (sequence, slice(None), entry)
        keys, values, key_scales, value_scales = (tensors[name][here] for name in _OF_EACH_HEAD)
        return dequantize(keys, key_scales, bits), dequantize(values, value_scales, bits)

    def views(self) -> tuple[BucketView, ...]:
        """The tensors themselves, in the order of `widths`."""
        lengths = self.placement.lengths.T.tolist()
        return tuple(
            BucketView(bits, **tensors, lengths=tuple(used))
            for bits, tensors, used in zip(self.widths, self._tensors, lengths, strict=True)
        )

    def memory_stats(self) -> MemoryStats:
        return measure(self.views(), self.head_dim)

    # Changes

    def store(
        self,
        keys: torch.Tensor,
        values: torch.Tensor,
        sequences: Any,
        slots: Any,
        widths: Any,
        token_ids: Any = None,
    ) -> None:
        """Quantise new tokens, fp16 [tokens, kv_heads, head_dim], into the buckets of their widths. All must
        be finite.

        `token_ids` is what the layer remembers of each token besides; its slot by default.
        """
        self._check_heads("keys", keys)
        self._check_heads("values", values)
        tokens = keys.shape[0]
        if values.shape[0] != tokens:
            raise ArgumentError(f"values has {values.shape[0]} tokens, but keys has {tokens}")
        where = integers("slots", slots, tokens)
        owners = integers("sequences", sequences, tokens)
        ids = where if token_ids is None else integers("token_ids", token_ids, tokens)
        buckets = self.placement.buckets_of(integers("widths", widths, tokens))
        self.placement.check_new(owners, where)
        require_finite("keys", keys, owners, where)
        require_finite("values", values, owners, where)
        if not tokens:
            return
        self._grow(self.placement.lengths_with(owners, buckets))
        entries = self.placement.free_entries(owners, buckets)
        self.backend.store(self.views(), keys, values, np.stack([buckets, owners, entries, where], 1))
        for bucket, rows in self._by_bucket(buckets, np.stack([owners, entries, ids], 1)):
            sequence, entry, identity = on_device(rows, self.backend.torch_device)
            self._tensors[bucket]["token_ids"][sequence, entry] = identity.int()
        # Only now: had a kernel failed, what it wrote would be in entries that nobody uses.
        self.placement.add(owners, where, buckets)

    def remove(self, sequences: Any, slots: Any) -> None:
        """Forget tokens; the last entries of their buckets take their places."""
        where = integers("slots", slots)
        self._fill_holes(self.placement.remove(integers("sequences", sequences, len(where)), where))

    def move(self, sequences: Any, slots: Any, widths: Any) -> int:
        """Take tokens to other widths, by way of their dequantised values. Those that have their width
        already stay untouched; returns how many moved."""
        where = integers("slots", slots)
        owners = integers("sequences", sequences, len(where))
        targets = self.placement.buckets_of(integers("widths", widths, len(where)))
        sources, _ = self.placement.distinct_entries(owners, where)
        moving = sources != targets
        if not moving.any():
            return 0
        owners, where, targets = owners[moving], where[moving], targets[moving]
        self._grow(self.placement.lengths_with(owners, targets))
        moves = self.placement.plan_moves(owners, where, targets)
        self.backend.requantize(self.views(), moves)
        self._carry_token_ids(moves)
        self._fill_holes(self.placement.move(where, moves))
        return len(moves)

    # Attention

    def attend(
        self, queries: torch.Tensor, mask: torch.Tensor | None = None, scale: float | None = None
    ) -> torch.Tensor:
        """fp16 [batch, kv_heads · group, head_dim] for queries of that shape. `mask`, uint8 [batch, slots],
        hides the slots where it is 0; `scale` is 1/√head_dim by default."""
        self._check_attention(queries, mask)
        return self.backend.attend(self.views(), queries, mask, self._scale(scale))

    def attend_and_weigh(
        self, queries: torch.Tensor, mask: torch.Tensor | None = None, scale: float | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The same, and [batch, slots]: the weight that it gives each slot, summed over the heads."""
        self._check_attention(queries, mask)
        slots = self.placement.slot_count()
        return self.backend.attend_and_weigh(self.views(), queries, mask, self._scale(scale), slots)

    def _scale(self, scale: float | None) -> float:
        if scale is None:
            return self.head_dim**-0.5
        scale = real("scale", scale)
        if not math.isfinite(scale):
            raise ArgumentError(f"scale is {scale}, but must be finite: it multiplies every score")
        return scale

    # Memory

    def _allocate(self, bits: int, capacity: int) -> dict[str, torch.Tensor]:
        import torch

        heads = (self.batch, self.kv_heads, capacity)
        payload = (*heads, row_bytes(bits, self.head_dim))
        shapes = {
            "keys": (payload, torch.uint8),
            "values": (payload, torch.uint8),
            "key_scales": (heads, self.scale_dtype),
            "value_scales": (heads, self.scale_dtype),
            "slots": ((self.batch, capacity), torch.int32),
            "token_ids": ((self.batch, capacity), torch.int32),
        }
        return {
            name: self.backend.empty(f"{name}_{bits}_bit", shape, dtype)
            for name, (shape, dtype) in shapes.items()
        }

    def _grow(self, lengths: Integers) -> None:
        """Make room for so many entries."""
        for bucket, needed in enumerate(lengths.max(0).tolist()):
            old = self._tensors[bucket]
            capacity = have = old["slots"].shape[1]
            while capacity < needed:
                capacity *= 2
            if capacity == have:
                continue
            new = self._allocate(self.widths[bucket], capacity)
            for name in _OF_EACH_HEAD:
                new[name][:, :, :have] = old[name]
            for name in _OF_EACH_ENTRY:
                new[name][:, :have] = old[name]
            self._tensors[bucket] = new

    def _fill_holes(self, fills: Integers) -> None:
        """Copies within buckets, byte for byte: requantising at the same width would drift."""
        for bucket, rows in self._by_bucket(fills[:, 0], fills[:, 1:]):
            sequence, old, new = on_device(rows, self.backend.torch_device)
            for name in _OF_EACH_HEAD:
                tensor = self._tensors[bucket][name]
                tensor[sequence, :, new] = tensor[sequence, :, old]
            for name in _OF_EACH_ENTRY:
                tensor = self._tensors[bucket][name]
                tensor[sequence, new] = tensor[sequence, old]

    def _carry_token_ids(self, moves: Integers) -> None:
        """The kernels know nothing of token ids."""
        pairs = moves[:, 1] * len(self.widths) + moves[:, 3]
        for pair in np.unique(pairs):
            source, target = divmod(int(pair), len(self.widths))
            sequence, old, new = on_device(moves[pairs == pair][:, [0, 2, 4]], self.backend.torch_device)
            self._tensors[target]["token_ids"][sequence, new] = self._tensors[source]["token_ids"][
                sequence, old
            ]

    @staticmethod
    def _by_bucket(buckets: Integers, rows: Integers) -> list[tuple[int, Integers]]:
        return [(int(bucket), rows[buckets == bucket]) for bucket in np.unique(buckets)]

    # Checks

    def _check_heads(self, name: str, heads: torch.Tensor) -> None:
        import torch

        require_tensor(name, heads)
        require_dtype(name, heads, torch.float16)
        self._require_here(name, heads)
        if heads.ndim != 3 or tuple(heads.shape[1:]) != (self.kv_heads, self.head_dim):
            raise ArgumentError(
                f"{name} has shape {list(heads.shape)}, but must be "
                f"[tokens, {self.kv_heads}, {self.head_dim}]"
            )

    def _check_attention(self, queries: torch.Tensor, mask: torch.Tensor | None) -> None:
        import torch

        require_tensor("queries", queries)
        require_dtype("queries", queries, torch.float16)
        self._require_here("queries", queries)
        groups = [self.kv_heads * group for group in GROUPS]
        if (
            queries.ndim != 3
            or (queries.shape[0], queries.shape[2]) != (self.batch, self.head_dim)
            or queries.shape[1] not in groups
        ):
            raise ArgumentError(
                f"queries has shape {list(queries.shape)}, but must be [{self.batch}, {self.kv_heads} times "
                f"1 to {GROUPS[-1]}, {self.head_dim}]"
            )
        if mask is None:
            return
        require_tensor("mask", mask)
        require_dtype("mask", mask, torch.uint8)
        self._require_here("mask", mask)
        slots = self.placement.slot_count()
        if mask.ndim != 2 or mask.shape[0] != self.batch or mask.shape[1] < slots:
            raise ArgumentError(
                f"mask has shape {list(mask.shape)}, but must be [{self.batch}, {slots} or more]: a column "
                "for each slot in use"
            )

    def _require_here(self, name: str, tensor: torch.Tensor) -> None:
        # Not the device that was asked for: torch makes "cuda" tensors on "cuda:0", which is not equal to it.
        require_device(name, tensor, self._tensors[0]["slots"].device)


def _require_head_dim(given: object) -> int:
    head_dim = whole("head_dim", given, None)
    if head_dim not in HEAD_DIMS:
        raise ArgumentError(
            f"head_dim is {head_dim}, but must be a multiple of {HEAD_DIMS.step} from {HEAD_DIMS[0]} "
            f"to {HEAD_DIMS[-1]}"
        )
    return head_dim


def _require_capacity(given: object) -> int:
    capacity = whole("capacity", given, None)
    if capacity < CAPACITY_STEP or capacity % CAPACITY_STEP:
        raise ArgumentError(f"capacity is {capacity}, but must be a positive multiple of {CAPACITY_STEP}")
    return capacity
