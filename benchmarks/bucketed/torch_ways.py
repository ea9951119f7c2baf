"""Torch's own attention over the FP16 cache, by each of its kernels that supports the shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from benchmarks.bucketed.context import Context

if TYPE_CHECKING:
    import torch

ATTENTIONS = {
    "torch FP16, flash": "FLASH_ATTENTION",
    "torch FP16, cuDNN": "CUDNN_ATTENTION",
    "torch FP16, memory-efficient": "EFFICIENT_ATTENTION",
}


def usable_attentions(context: Context) -> Iterator[tuple[str, Callable[[], torch.Tensor]]]:
    """Those that run here; prints the names of the others."""
    for name, backend in ATTENTIONS.items():
        call = functools.partial(_attend, context, backend)
        try:
            call()
        except RuntimeError as error:
            print(f"{name}: does not run here ({str(error).splitlines()[0]})")
        else:
            yield name, call


def _attend(context: Context, backend: str) -> torch.Tensor:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        out = torch.nn.functional.scaled_dot_product_attention(
            context.queries.unsqueeze(2), context.keys, context.values
        )
    return out.squeeze(2)
