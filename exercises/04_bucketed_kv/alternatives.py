"""Attention in torch over a cache in FP16, measured beside the kernels for speed alone: its cache holds other
values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.spec import Buffers, OnBuffers, Size

from .layout import softmax_scale
from .shapes import keys_of

if TYPE_CHECKING:
    import torch

_Half = tuple["torch.Tensor", "torch.Tensor"]
# Only for the newest case: a long context takes gigabytes.
_caches: dict[tuple[int, ...], _Half] = {}


def _half_cache(size: Size, device: torch.device) -> _Half:
    """Keys and values as a cache in FP16 holds them, [batch, kv_heads, keys, head_dim]."""
    import torch

    shape = (size.batch, size.kv_heads, keys_of(size), size.head_dim)
    if shape not in _caches:
        _caches.clear()
        _caches[shape] = (
            torch.randn(shape, dtype=torch.float16, device=device),
            torch.randn(shape, dtype=torch.float16, device=device),
        )
    return _caches[shape]


def torch_attention(backend: str) -> OnBuffers:
    """scaled_dot_product_attention by one of torch's own kernels."""

    def attend(size: Size, buffers: Buffers) -> None:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        rows = buffers["queries"]
        keys, values = _half_cache(size, rows.device)
        # The query heads of a group are rows side by side, so that each key is read once.
        grouped = rows.view(size.batch, size.kv_heads, size.group, size.head_dim)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            torch.nn.functional.scaled_dot_product_attention(grouped, keys, values, scale=softmax_scale(size))

    return attend


FLASH = "torch's flash attention in FP16"
CUDNN = "cuDNN's attention in FP16"
YARDSTICKS = {FLASH: torch_attention("FLASH_ATTENTION"), CUDNN: torch_attention("CUDNN_ATTENTION")}
