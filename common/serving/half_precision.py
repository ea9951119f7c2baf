"""Products and attention in fp16 and bfloat16 on a CPU, with the roundings of torch's kernels.

Those kernels multiply halves, add in float32 and round the sum. torch does the same on a CPU, but most CPUs
have no instruction for it: there it takes up to 200 times as long as float32. Here inputs are widened first,
which is exact, and each result is rounded as torch rounds it. On a GPU, and in other types, torch does the
work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_HALVES = ("torch.float16", "torch.bfloat16")
_MOST_SCORES = 1 << 22  # at once


def _widened(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and str(tensor.dtype) in _HALVES


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b, in their type."""
    return (a.float() @ b.float()).to(a.dtype) if _widened(a) else a @ b


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool, scale: float
) -> torch.Tensor:
    """torch's scaled_dot_product_attention of [batch, head, row, element]."""
    import torch

    if not _widened(query):
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=causal, scale=scale
        )
    out = torch.empty_like(query)
    batch, heads, rows, _ = query.shape
    step = max(1, _MOST_SCORES // max(1, batch * heads * rows))
    for start in range(0, rows, step):
        chunk = slice(start, min(start + step, rows))
        seen = chunk.stop if causal else rows
        keys, values = (tensor[..., :seen, :].float() for tensor in (key, value))
        scores = query[..., chunk, :].float() @ keys.transpose(-1, -2) * scale
        if causal:
            scores.masked_fill_(_hidden(chunk, seen), -torch.inf)
        weights = torch.exp(scores - scores.amax(-1, keepdim=True))
        summed = weights.to(query.dtype).float() @ values
        out[..., chunk, :] = (summed / weights.sum(-1, keepdim=True)).to(query.dtype)
    return out


def _hidden(rows: slice, keys: int) -> torch.Tensor:
    """The keys that come after each row."""
    import torch

    return torch.arange(keys) > torch.arange(rows.start, rows.stop).unsqueeze(-1)
