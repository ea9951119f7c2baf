"""Torch's own attention by two of its backends: what the kernel is compared with on a GPU."""

from __future__ import annotations

from grader.spec import Buffers, OnBuffers, Size

from .layout import operands
from .shapes import softmax_scale


def by(backend: str) -> OnBuffers:
    def attend(size: Size, buffers: Buffers) -> None:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        query, key, value = operands(size, buffers)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            torch.nn.functional.scaled_dot_product_attention(
                query, key, value, is_causal=bool(size.causal), scale=softmax_scale(size)
            )

    return attend


CUDNN = "cuDNN"
YARDSTICKS = {CUDNN: by("CUDNN_ATTENTION"), "torch's FlashAttention-2": by("FLASH_ATTENTION")}
