"""The same store in torch, measured beside the kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.spec import Buffers, Size

from .layout import pages, row, rows

if TYPE_CHECKING:
    import torch


def index_copy(size: Size, buffers: Buffers) -> None:
    at = pages(size, buffers)
    for name, values in zip(("k_cache", "v_cache"), rows(size, buffers), strict=True):
        buffers[name][:, : row(size)].index_copy_(0, at, values)


@functools.cache
def _compiled_assignment() -> Callable[..., None]:
    import torch

    def assign(
        k_cache: torch.Tensor, v_cache: torch.Tensor, at: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> None:
        k_cache[at] = k
        v_cache[at] = v

    return torch.compile(assign, dynamic=True)


def compiled_assignment(size: Size, buffers: Buffers) -> None:
    k_cache, v_cache = (buffers[name][:, : row(size)] for name in ("k_cache", "v_cache"))
    _compiled_assignment()(k_cache, v_cache, pages(size, buffers), *rows(size, buffers))


ALTERNATIVES = {
    "torch index_copy_ ×2": index_copy,
    "torch.compile of an indexed assignment": compiled_assignment,
}
