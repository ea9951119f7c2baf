"""A layer's arithmetic by the kernels of exercise 04, on a GPU or on a virtual one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from common.serving.arguments import ArgumentError
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.views import BucketView
from common.serving.device import Device
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "04_bucketed_kv"
VARIABLE = "MINISGL_BUCKETED_KV_KERNEL"
MOST_PARTS = 256  # of one row, that a kernel may leave in its scratch memory
_TYPES = {
    "quantize_and_pack": (
        *["pointer"] * 2,
        *["i64"] * 2,
        *["table", "i32", "pointer"],
        *["i32"] * 3,
        "stream",
    ),
    "requantize": ("table", "i32", "pointer", *["i32"] * 3, "stream"),
    "bucketed_attention": (
        *["pointer", "table", "i32", "table"],
        *["pointer", "i64"],
        *["pointer", "pointer", "i64", "pointer"],
        *["i32"] * 4,
        *["f32", "stream"],
    ),
    "attend_and_weigh": (
        *["pointer", "table", "i32", "table"],
        *["pointer", "i64"],
        *["pointer", "pointer", "i64", "pointer"],
        *["pointer", "i64", "pointer"],
        *["i32"] * 4,
        *["f32", "stream"],
    ),
}


class KernelBackend:
    """`kernel` is the CUDA file to run, see `chosen_kernel`. All tensors lie in the device's memory."""

    def __init__(self, device: Device, kernel: Path | None = None) -> None:
        import torch

        self.device = device
        self.kernel = kernel or chosen_kernel(EXERCISE, VARIABLE)
        self._rows = _Buffer(device, "rows_for_kernels", torch.int32)
        self._scratch = _Buffer(device, "scratch", torch.float32)
        self._scores = _Buffer(device, "scores", torch.float32)
        self._counters = _Buffer(device, "counters", torch.int32)
        self.torch_device = self._counters.at_least(1).device

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return self.device.empty(name, shape, dtype)

    def store(
        self, buckets: Sequence[BucketView], keys: torch.Tensor, values: torch.Tensor, places: Integers
    ) -> None:
        tokens, kv_heads, head_dim = keys.shape
        self._require_alike(keys, values)
        self._call(
            "quantize_and_pack",
            self.device.address(keys, "keys"),
            self.device.address(values, "values"),
            keys.stride(0),
            keys.stride(1),
            self._bucket_table(buckets),
            len(buckets),
            self._put_rows(places),
            tokens,
            kv_heads,
            head_dim,
        )

    def requantize(self, buckets: Sequence[BucketView], moves: Integers) -> None:
        kv_heads = buckets[0].keys.shape[1]
        self._call(
            "requantize",
            self._bucket_table(buckets),
            len(buckets),
            self._put_rows(moves),
            len(moves),
            kv_heads,
            _head_dim(buckets[0]),
        )

    def attend(
        self, buckets: Sequence[BucketView], queries: torch.Tensor, mask: torch.Tensor | None, scale: float
    ) -> torch.Tensor:
        return self._attend("bucketed_attention", buckets, queries, mask, scale)

    def attend_and_weigh(
        self,
        buckets: Sequence[BucketView],
        queries: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float,
        slots: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        batch, heads, _ = queries.shape
        weights = self.device.full("weights", (batch, slots), torch.float32, 0)
        scores = self._scores.at_least(batch * heads * sum(bucket.capacity for bucket in buckets))
        extra = (
            self.device.address(weights, "weights") if slots else 0,
            slots,
            self.device.address(scores, "scores"),
        )
        out = self._attend("attend_and_weigh", buckets, queries, mask, scale, *extra)
        return out, weights

    def _attend(
        self,
        entry: str,
        buckets: Sequence[BucketView],
        queries: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float,
        *extra: object,
    ) -> torch.Tensor:
        """Calls an entry whose arguments are those of bucketed_attention, with others behind the output."""
        batch, heads, head_dim = queries.shape
        kv_heads = buckets[0].keys.shape[1]
        if not queries.is_contiguous():
            raise ArgumentError(
                f"queries has strides {list(queries.stride())}, but must be dense: pass .contiguous()"
            )
        if mask is not None and mask.stride(1) != 1:
            raise ArgumentError(
                f"mask has stride {mask.stride(1)} within a row, but a row must be dense: pass .contiguous()"
            )
        scratch = self._scratch.at_least(MOST_PARTS * batch * heads * (head_dim + 2))
        counters = self._counters.at_least(batch * kv_heads)
        out = self.device.empty("attention", queries.shape, queries.dtype)
        self._call(
            entry,
            self.device.address(queries, "queries"),
            self._bucket_table(buckets),
            len(buckets),
            self.device.table(list(zip(*(bucket.lengths for bucket in buckets), strict=True))),
            0 if mask is None else self.device.address(mask, "mask"),
            0 if mask is None else mask.stride(0),
            self.device.address(out, "attention"),
            *extra,
            self.device.address(scratch, "scratch"),
            scratch.nbytes,
            self.device.address(counters, "counters"),
            batch,
            kv_heads,
            heads // kv_heads,
            head_dim,
            scale,
        )
        return out

    def _call(self, entry: str, *values: object) -> None:
        self.device.function(self.kernel, entry, _TYPES[entry])(*values, self.device.stream())

    def _bucket_table(self, buckets: Sequence[BucketView]) -> object:
        """The kernel's Bucket for each, its fields in their order."""
        tensors = ("keys", "values", "key_scales", "value_scales", "slots")
        return self.device.table(
            [
                (
                    *(self.device.address(getattr(bucket, name), name) for name in tensors),
                    bucket.capacity,
                    bucket.bits,
                    bucket.scale_bytes,
                )
                for bucket in buckets
            ]
        )

    def _put_rows(self, rows: Integers) -> int:
        """The address of a copy of the rows, as int32 on the device."""
        import torch

        copy = self._rows.at_least(rows.size)[: rows.size]
        copy.copy_(torch.from_numpy(rows.astype(np.int32).ravel()))
        return self.device.address(copy, "rows_for_kernels")

    @staticmethod
    def _require_alike(keys: torch.Tensor, values: torch.Tensor) -> None:
        if keys.stride() != values.stride() or keys.stride(2) != 1:
            raise ArgumentError(
                f"keys has strides {list(keys.stride())} and values {list(values.stride())}, but they must "
                "have the same, and dense heads: pass both as .contiguous()"
            )


class _Buffer:
    """Memory that calls share and that grows with their needs; zeros when it is new."""

    def __init__(self, device: Device, name: str, dtype: torch.dtype) -> None:
        self._device = device
        self._name = name
        self._dtype = dtype
        self._tensor: torch.Tensor | None = None

    def at_least(self, count: int) -> torch.Tensor:
        have = 0 if self._tensor is None else self._tensor.shape[0]
        if self._tensor is None or have < count:
            self._tensor = self._device.full(self._name, (max(count, 2 * have),), self._dtype, 0)
        return self._tensor


def _head_dim(bucket: BucketView) -> int:
    return bucket.keys.shape[3] * 8 // bucket.bits
