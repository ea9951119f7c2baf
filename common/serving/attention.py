"""Attention over whole sequences by the faster of two kernels: 06's where the device runs it, else 05's.

On an H200, 06 was faster than 05 at every shape that was measured (docs/hopper-attention.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.serving.attention_arguments import check_attention, place_for
from common.serving.flash_attention import flash_attention
from common.serving.hopper_attention import ARCH, hopper_attention

if TYPE_CHECKING:
    import torch


def attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(scale · queries keysᵀ) values, for tensors [batch, heads, rows, head_dim] of fp16 or bfloat16.

    Keys and values may have fewer heads than queries. Rows may be apart. Raises ArgumentError before anything
    is written.
    """
    check_attention(queries, keys, values, scale, shared=True)
    out, device = place_for(out, queries, keys, values)
    if device is None:
        return out
    if device.runs(ARCH):
        return hopper_attention(queries, keys, values, causal=causal, scale=scale, out=out)
    sharers = queries.shape[1] // keys.shape[1]
    if sharers > 1:
        keys, values = (
            device.put(name, tensor.repeat_interleave(sharers, dim=1))
            for name, tensor in (("keys", keys), ("values", values))
        )
    return flash_attention(queries, keys, values, causal=causal, scale=scale, out=out)
