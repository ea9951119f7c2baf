"""Inputs of sizes that are too large to draw: small tensors as ever, and of large ones the memory alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

_LARGE = 4 << 20  # bytes: numbers of rows, slots and pages are fewer, and are drawn


class SparseRandom(Random):
    """Large tensors of any bytes and of halves are zeros that take no memory until somebody touches them; of
    normal numbers, zeros. Whole numbers, which may be places in other tensors, are always drawn."""

    def __init__(self, seed: bytes | str) -> None:
        super().__init__(seed)
        self._empty: dict[int, torch.Tensor] = {}  # by the address of their memory
        self._read: dict[int, tuple[torch.Tensor, bool]] = {}  # others, which live as long as their id

    def half(self, *shape: int) -> torch.Tensor:
        if 2 * math.prod(shape) < _LARGE:
            return super().half(*shape)
        return self._nothing("float16", *shape)

    def bytes(self, count: int) -> torch.Tensor:
        return super().bytes(count) if count < _LARGE else self._nothing("uint8", count)

    def normal(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        if 4 * math.prod(shape) < _LARGE:
            return super().normal(*shape, scale=scale)
        return _zeros("float32", *shape)

    def is_empty(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is such zeros, or was made of them and is zeros still: reading that takes time,
        and is done once."""
        if tensor.untyped_storage().data_ptr() in self._empty:
            return True
        if id(tensor) not in self._read:
            self._read[id(tensor)] = tensor, tensor.nbytes >= _LARGE and not _any(tensor)
        return self._read[id(tensor)][1]

    def _nothing(self, dtype: str, *shape: int) -> torch.Tensor:
        made = _zeros(dtype, *shape)
        self._empty[made.untyped_storage().data_ptr()] = made
        return made


def _any(tensor: torch.Tensor) -> bool:
    """As Tensor.any(), which takes several times as long to read floating numbers."""
    import torch

    if not tensor.is_contiguous() or (tensor.data_ptr() | tensor.nbytes) % 8:
        return bool(tensor.any())
    # Bits that are zero are zeros; other bits may be zeros, too, below zero.
    return bool(tensor.view(-1).view(torch.int64).any()) and bool(tensor.any())


def _zeros(dtype: str, *shape: int) -> torch.Tensor:
    import numpy as np
    import torch

    return torch.from_numpy(np.zeros(shape, dtype))  # torch's own zeros would be written one by one
