"""Attention over whole sequences: exercise 06's kernel behind argument checks, for devices of sm_90a."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from common.serving.attention_arguments import call_attention, check_attention, place_for
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "06_hopper_attention"
ENTRY = "hopper_attention"
VARIABLE = "HOPPER_ATTENTION_KERNEL"
ARCH = "sm_90a"
_TYPES = (*["pointer"] * 4, "table", *["i32"] * 5, "f32", "i32", "i32", "stream")


def hopper_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    out: torch.Tensor | None = None,
    kernel: Path | None = None,
) -> torch.Tensor:
    """As `flash_attention`, and keys and values may have fewer heads: then heads of queries that follow one
    another share one of theirs."""
    check_attention(queries, keys, values, scale, shared=True)
    out, device = place_for(out, queries, keys, values)
    if device is not None:
        source = kernel or chosen_kernel(EXERCISE, VARIABLE)
        batch, heads, rows, head_dim = queries.shape
        attend = device.function(source, ENTRY, _TYPES, arch=ARCH)
        tensors, counts = (queries, keys, values, out), (batch, heads, keys.shape[1], rows, head_dim)
        call_attention(device, attend, tensors, counts, causal=causal, scale=scale)
    return out
