"""Attention over whole sequences: exercise 05's kernel behind argument checks, built as tuned for the GPU."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING

from common.core.paths import REPOSITORY
from common.serving import tuned
from common.serving.arguments import (
    ArgumentError,
    require_dtype,
    require_one_device,
    require_tensor,
)
from common.serving.device import device_of
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "05_flash_attention"
ENTRY = "flash_attention"
VARIABLE = "FLASH_ATTENTION_KERNEL"
HEAD_DIMS = (64, 128)
_SOLUTION = REPOSITORY / "solutions" / EXERCISE / "kernel.cu"
_TYPES = (*["pointer"] * 4, "table", *["i32"] * 4, "f32", "i32", "i32", "stream")
_NAMES = ("queries", "keys", "values")
_PIECE = 8  # elements of 16 bytes: what a thread copies at once


def flash_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    out: torch.Tensor | None = None,
    kernel: Path | None = None,
) -> torch.Tensor:
    """softmax(scale · queries keysᵀ) values, for tensors [batch, heads, rows, head_dim] of fp16 or bfloat16.

    Rows may be apart, so that [batch, rows, heads, head_dim] is passed with .transpose(1, 2). `scale` is
    1/√head_dim unless given. `kernel` is the CUDA file to run, see `chosen_kernel`. Raises ArgumentError
    before anything is written.
    """
    _check(queries, keys, values, scale)
    device = device_of(_NAMES, (queries, keys, values)) if queries.numel() else None
    if out is None:
        out = _empty_like(queries) if device is None else device.empty("out", queries.shape, queries.dtype)
    _check_like("out", out, queries)
    if device is None:
        return out
    tensors = (queries, keys, values, out)
    source = kernel or chosen_kernel(EXERCISE, VARIABLE)
    batch, heads, rows, head_dim = queries.shape
    defines = _defines(device.name, batch * heads, rows, head_dim, causal) if source == _SOLUTION else {}
    attend = device.function(source, ENTRY, _TYPES, defines)
    attend(
        *map(device.address, tensors, (*_NAMES, "out")),
        device.table([tensor.stride()[:3] for tensor in tensors]),
        *(batch, heads, rows, head_dim),
        head_dim**-0.5 if scale is None else scale,
        int(causal),
        int(_is_bfloat16(queries)),
        device.stream(),
    )
    return out


@functools.cache  # asked at every launch
def _defines(gpu: str, heads: int, rows: int, head_dim: int, causal: bool) -> tuned.Defines:
    """Those of the nearest case that was searched on such a GPU: the solution's macros."""
    cases = [
        tuned.Tuned({**one.sizes, "heads": one.sizes["batch"] * one.sizes["heads"]}, one.defines)
        for one in tuned.searched(EXERCISE, gpu)
    ]
    sizes = {"heads": heads, "length": rows, "head_dim": head_dim, "causal": int(causal)}
    return tuned.nearest(cases, sizes, alike=("head_dim", "causal"), near=("heads", "length"))


def _check(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: object) -> None:
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
    _check_like("queries", queries, queries)
    _check_like("keys", keys, queries)
    _check_like("values", values, queries)
    require_one_device(_NAMES, (queries, keys, values))
    if scale is not None and not (isinstance(scale, float | int) and math.isfinite(scale)):
        raise ArgumentError(f"scale is {scale!r}, but must be a finite number, or None for 1/√head_dim")


def _check_like(name: str, tensor: torch.Tensor, queries: torch.Tensor) -> None:
    """The queries' shape and type, with rows that a thread can copy by 16 bytes."""
    require_tensor(name, tensor)
    require_dtype(name, tensor, queries.dtype)
    if tensor.shape != queries.shape:
        raise ArgumentError(
            f"{name} has shape {list(tensor.shape)}, but must have that of queries, {list(queries.shape)}"
        )
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


def _empty_like(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.empty_like(tensor)


def _is_bfloat16(tensor: torch.Tensor) -> bool:
    import torch

    return tensor.dtype is torch.bfloat16
