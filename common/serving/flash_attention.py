"""Attention over whole sequences: exercise 05's kernel behind argument checks, built as tuned for the GPU."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from common.core.paths import REPOSITORY
from common.serving import tuned
from common.serving.attention_arguments import call_attention, check_attention, place_for
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "05_flash_attention"
ENTRY = "flash_attention"
VARIABLE = "FLASH_ATTENTION_KERNEL"
_SOLUTION = REPOSITORY / "solutions" / EXERCISE / "kernel.cu"
_TYPES = (*["pointer"] * 4, "table", *["i32"] * 4, "f32", "i32", "i32", "stream")


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
    check_attention(queries, keys, values, scale)
    out, device = place_for(out, queries, keys, values)
    if device is not None:
        source = kernel or chosen_kernel(EXERCISE, VARIABLE)
        batch, heads, rows, head_dim = queries.shape
        defines = _defines(device.name, batch * heads, rows, head_dim, causal) if source == _SOLUTION else {}
        attend = device.function(source, ENTRY, _TYPES, defines)
        tensors = (queries, keys, values, out)
        call_attention(device, attend, tensors, (batch, heads, rows, head_dim), causal=causal, scale=scale)
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
