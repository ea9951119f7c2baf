"""Attention in fp32, and how far another attention is from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_PIECE_BYTES = 1 << 30  # of scores, and of keys


def exact_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *, causal: bool = False
) -> torch.Tensor:
    """float32 [batch, heads, rows, head_dim], over the exact values of half-precision tensors of that order.

    A causal mask is for as many queries as keys."""
    import torch

    batch, heads, rows, head_dim = queries.shape
    length = keys.shape[2]
    hidden = None
    if causal:
        hidden = torch.ones(rows, length, dtype=torch.bool, device=queries.device).triu(1)
    out = torch.empty(queries.shape, dtype=torch.float32, device=queries.device)
    step = max(1, _PIECE_BYTES // (4 * length * max(rows, head_dim)))  # heads at a time
    for sequence in range(batch):
        for first in range(0, heads, step):
            some = (sequence, slice(first, first + step))
            scores = queries[some].float() @ keys[some].float().transpose(1, 2) * head_dim**-0.5
            if hidden is not None:
                scores.masked_fill_(hidden, -torch.inf)
            out[some] = scores.softmax(-1) @ values[some].float()
    return out


def largest_error(out: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest over rows: the norm of the difference over the norm of the right answer."""
    import torch

    difference = torch.linalg.vector_norm(out.double() - wanted.double(), dim=-1)
    return float((difference / torch.linalg.vector_norm(wanted.double(), dim=-1)).max())
