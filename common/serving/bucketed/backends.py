"""Who does a layer's arithmetic: torch, or the kernels of exercise 04."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from common.serving.arguments import ArgumentError
from common.serving.bucketed import quantizing, reference_attention
from common.serving.bucketed.checks import described, require_torch_device
from common.serving.bucketed.placement import Integers
from common.serving.bucketed.views import BucketView

if TYPE_CHECKING:
    import torch

    from common.serving.device import Device


class Backend(Protocol):
    """Memory for a layer's tensors, and what is done to them.

    `places` are rows of {bucket, sequence, entry, slot}, `moves` of {sequence, from bucket, from entry,
    to bucket, to entry, 0}: the rows of the kernels, here still on the host. Arguments have been checked.
    """

    torch_device: torch.device  # where torch sees the tensors

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor: ...

    def store(
        self, buckets: Sequence[BucketView], keys: torch.Tensor, values: torch.Tensor, places: Integers
    ) -> None: ...

    def requantize(self, buckets: Sequence[BucketView], moves: Integers) -> None: ...

    def attend(
        self, buckets: Sequence[BucketView], queries: torch.Tensor, mask: torch.Tensor | None, scale: float
    ) -> torch.Tensor: ...

    def attend_and_weigh(
        self,
        buckets: Sequence[BucketView],
        queries: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float,
        slots: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The attention, and [batch, slots]: the weight that it gives each slot, summed over the heads."""
        ...


def backend_for(device: str | torch.device | Device) -> Backend:
    """Torch on a torch device ("cpu", "cuda"); the kernels on a device of `common.serving.device`."""
    import torch

    if isinstance(device, str | torch.device):
        return TorchBackend(require_torch_device("device", device))
    from common.serving.bucketed.kernel_backend import KernelBackend  # can build and run CUDA: not for all
    from common.serving.device import Device

    if not isinstance(device, Device):
        raise ArgumentError(
            f'device is {described(device)}, but must be a torch device, such as "cpu", or a Device for '
            "kernels"
        )
    return KernelBackend(device)


class TorchBackend:
    """The reference: any torch device, no kernel of ours."""

    def __init__(self, device: torch.device) -> None:
        self.torch_device = device

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        import torch

        return torch.empty(tuple(shape), dtype=dtype, device=self.torch_device)

    def store(
        self, buckets: Sequence[BucketView], keys: torch.Tensor, values: torch.Tensor, places: Integers
    ) -> None:
        for numbers, rows in _groups(places[:, 0]):
            bucket = buckets[numbers]
            columns = np.concatenate([rows[:, None], places[rows, 1:]], 1)
            token, sequence, entry, slot = on_device(columns, self.torch_device)
            sides = (
                (keys, bucket.keys, bucket.key_scales),
                (values, bucket.values, bucket.value_scales),
            )
            for heads, payload, scales in sides:
                payload[sequence, :, entry], scales[sequence, :, entry] = quantizing.quantize_and_pack(
                    heads[token], bucket.bits, scales.dtype
                )
            bucket.slots[sequence, entry] = slot.to(bucket.slots.dtype)

    def requantize(self, buckets: Sequence[BucketView], moves: Integers) -> None:
        for numbers, rows in _groups(moves[:, 1] * len(buckets) + moves[:, 3]):
            source, target = (buckets[number] for number in divmod(numbers, len(buckets)))
            sequence, old, new = on_device(moves[rows][:, [0, 2, 4]], self.torch_device)
            sides = (
                (source.keys, source.key_scales, target.keys, target.key_scales),
                (source.values, source.value_scales, target.values, target.value_scales),
            )
            for payload, scales, new_payload, new_scales in sides:
                new_payload[sequence, :, new], new_scales[sequence, :, new] = quantizing.requantize(
                    payload[sequence, :, old], scales[sequence, :, old], source.bits, target.bits
                )
            target.slots[sequence, new] = source.slots[sequence, old]

    def attend(
        self, buckets: Sequence[BucketView], queries: torch.Tensor, mask: torch.Tensor | None, scale: float
    ) -> torch.Tensor:
        return reference_attention.attention(queries, buckets, mask, scale).to(queries.dtype)

    def attend_and_weigh(
        self,
        buckets: Sequence[BucketView],
        queries: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float,
        slots: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        parts = reference_attention.attend_buckets(queries, buckets, mask, scale)
        weights = reference_attention.slot_weights(queries, buckets, parts, mask, scale, slots)
        return reference_attention.merge_parts(parts).to(queries.dtype), weights


def on_device(rows: np.ndarray[Any, Any], device: torch.device) -> tuple[torch.Tensor, ...]:
    """The columns of a table as index tensors; one copy to the device for all of them."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(rows.T)).to(device).unbind()


def _groups(numbers: Integers) -> Iterator[tuple[int, Integers]]:
    """Each number that occurs, with the rows it occurs in."""
    for number in np.unique(numbers):
        yield int(number), np.flatnonzero(numbers == number)
