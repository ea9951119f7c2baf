"""Elements of tensors as text: indices and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def indices(flat: int, shape: Sequence[int]) -> str:
    """The indices of element number `flat` in a dense tensor of this shape."""
    out = []
    for extent in reversed(shape):
        flat, index = divmod(flat, extent)
        out.append(str(index))
    return ",".join(reversed(out))


def value_text(scalar: torch.Tensor) -> str:
    number = scalar.item()
    return f"{number:.6g}" if isinstance(number, float) else str(number)
