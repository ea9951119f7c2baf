"""Inputs from a seed: the same on every machine for one device kind, different for every seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_INFINITE = 0x7C00  # the exponent of half-precision infinities and NaNs
_PIECE = 1 << 20  # elements


class Random:
    """A source of tensors on `device` ("cpu" or "cuda") and of whole numbers."""

    def __init__(self, seed: bytes | str, device: str = "cpu") -> None:
        import torch

        digest = hashlib.sha256(seed if isinstance(seed, bytes) else seed.encode()).digest()
        self.device = device
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        self._state = digest

    def half(self, *shape: int) -> torch.Tensor:
        """Finite float16 values of every sign and size, so that no two rows look alike."""
        import torch

        bits = self.bytes(2 * math.prod(shape)).view(torch.int16).view(shape)
        # Clearing the lowest exponent bit of an all-ones exponent makes it finite. In pieces, because the
        # temporaries would take several times the tensor's memory.
        for part in bits.view(-1).split(_PIECE):
            part &= ~(((part & _INFINITE) == _INFINITE).to(torch.int16) << 10)
        return bits.view(torch.float16)

    def normal(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        import torch

        return torch.randn(shape, device=self.device, generator=self._generator) * scale

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """int32 values from low up to but not including high."""
        import torch

        return torch.randint(
            low, high, shape, dtype=torch.int32, device=self.device, generator=self._generator
        )

    def bytes(self, count: int) -> torch.Tensor:
        """All uint8 values, drawn eight at a time: that takes a quarter of the time of integers."""
        import torch

        words = torch.empty(max(1, -(-count // 8)), dtype=torch.int64, device=self.device)
        words.random_(-(1 << 63), None, generator=self._generator)
        return words.view(torch.uint8)[:count]

    def distinct(self, count: int, below: int) -> torch.Tensor:
        """`count` different int32 numbers from 0 up to but not including `below`, in random order."""
        import torch

        if count > below:
            raise ValueError(f"{count} distinct numbers below {below} do not exist")
        order = torch.randperm(below, device=self.device, generator=self._generator)
        return order[:count].to(torch.int32)

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both included; independent of the tensors drawn so far."""
        self._state = hashlib.sha256(self._state).digest()
        return low + int.from_bytes(self._state[:8], "little") % (high - low + 1)

    def choice(self, values: Sequence[int]) -> int:
        return values[self.number(0, len(values) - 1)]
