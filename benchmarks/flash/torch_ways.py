"""Torch's scaled_dot_product_attention, by each of its kernels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.flash.comparison import Side
from benchmarks.flash.ways import BACKENDS

if TYPE_CHECKING:
    import torch

    Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # queries, keys, values


def torch_sides(sets: Sequence[Tensors], *, causal: bool = False) -> list[Side]:
    return [
        Side(name, "torch", [functools.partial(_attend, backend, causal, tensors) for tensors in sets])
        for name, backend in BACKENDS.items()
    ]


def _attend(backend: str, causal: bool, tensors: Tensors) -> torch.Tensor:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
