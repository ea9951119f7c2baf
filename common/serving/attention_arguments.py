"""What attention kernels are given: tensors [batch, heads, rows, head_dim], read 16 bytes at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from common.serving.arguments import (
    ArgumentError,
    require_dtype,
    require_one_device,
    require_tensor,
)
from common.serving.device import Device, Function, device_of

if TYPE_CHECKING:
    import torch

HEAD_DIMS = (64, 128)
NAMES = ("queries", "keys", "values")
_PIECE = 8  # elements of 16 bytes: what a thread copies at once


def check_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: object, *, shared: bool = False
) -> None:
    """Raises ArgumentError. With `shared`, keys and values may have fewer heads, which heads of queries
    share."""
    import torch

    require_tensor("queries", queries)
    if queries.ndim != 4:
        raise ArgumentError(
            f"queries has shape {list(queries.shape)}, but must be [batch, heads, rows, head_dim]"
        )
    if queries.dtype not in (torch.float16, torch.bfloat16):
        raise ArgumentError(
            f"queries is {queries.dtype}, but must be torch.float16 or torch.bfloat16: pass .half()"
        )
    if queries.shape[3] not in HEAD_DIMS:
        raise ArgumentError(
            f"queries has heads of {queries.shape[3]}, but must have {' or '.join(map(str, HEAD_DIMS))}"
        )
    check_like("queries", queries, queries)
    check_like("keys", keys, queries, heads=_heads(keys, queries) if shared else None)
    check_like("values", values, keys)
    require_one_device(NAMES, (queries, keys, values))
    if scale is not None and not (isinstance(scale, float | int) and math.isfinite(scale)):
        raise ArgumentError(f"scale is {scale!r}, but must be a finite number, or None for 1/√head_dim")


def check_like(name: str, tensor: torch.Tensor, model: torch.Tensor, *, heads: int | None = None) -> None:
    """The shape of `model`, or so many heads, and its type, with rows that a thread can copy by 16 bytes."""
    require_tensor(name, tensor)
    require_dtype(name, tensor, model.dtype)
    batch, all_heads, *rest = model.shape
    wanted = [batch, all_heads if heads is None else heads, *rest]
    if list(tensor.shape) != wanted:
        raise ArgumentError(f"{name} has shape {list(tensor.shape)}, but must have {wanted}")
    if tensor.numel() == 0:
        return
    if tensor.stride(3) != 1:
        raise ArgumentError(
            f"{name} has stride {tensor.stride(3)} within a row, but the elements of a row must lie side by "
            "side: pass .contiguous()"
        )
    if any(stride % _PIECE for stride in tensor.stride()[:3]) or tensor.data_ptr() % (2 * _PIECE):
        raise ArgumentError(
            f"{name} has rows that do not begin at multiples of {2 * _PIECE} bytes (strides "
            f"{list(tensor.stride())}): pass .contiguous()"
        )


def place_for(
    out: torch.Tensor | None, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, Device | None]:
    """Where the result goes, and the device that all tensors are on: None if there is nothing to compute."""
    import torch

    device = device_of(NAMES, (queries, keys, values)) if queries.numel() else None
    if out is None:
        out = (
            torch.empty_like(queries) if device is None else device.empty("out", queries.shape, queries.dtype)
        )
    check_like("out", out, queries)
    return out, device


def call_attention(
    device: Device,
    attend: Function,
    tensors: Sequence[torch.Tensor],
    counts: Sequence[int],
    *,
    causal: bool,
    scale: float | None,
) -> None:
    """An entry point on queries, keys, values and the output, with `counts` for their shapes."""
    import torch

    queries, head_dim = tensors[0], tensors[0].shape[3]
    attend(
        *map(device.address, tensors, (*NAMES, "out")),
        device.table([tensor.stride()[:3] for tensor in tensors]),
        *counts,
        head_dim**-0.5 if scale is None else scale,
        int(causal),
        int(queries.dtype is torch.bfloat16),
        device.stream(),
    )


def _heads(keys: torch.Tensor, queries: torch.Tensor) -> int:
    """How many heads of keys there are. As many heads of queries must share each."""
    require_tensor("keys", keys)
    wanted, heads = queries.shape[1], keys.shape[1] if keys.ndim == 4 else -1
    if heads != wanted and (heads <= 0 or wanted % heads):
        raise ArgumentError(
            f"keys has shape {list(keys.shape)}, but its heads must divide the {wanted} of queries"
        )
    return int(heads)
