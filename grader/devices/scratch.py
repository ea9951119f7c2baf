"""Fills the memory of a call: scratch buffers with values that no kernel can use by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from grader.spec import Call

POISON = 0xFF  # a byte: NaN in every floating type, -1 in every signed integer


def filled(call: Call, name: str) -> torch.Tensor:
    """A buffer's memory as it must be before the call: with its values, or poisoned if it is scratch."""
    import torch

    tensor = call.buffers[name]
    if name in call.apart:
        memory = torch.empty(call.shape(name), dtype=tensor.dtype, device=tensor.device)
        call.held(name, memory).copy_(tensor)
        return memory
    if name not in call.scratch:
        return tensor
    held = tensor.numel() * tensor.element_size()
    raw = torch.full((held,), POISON, dtype=torch.uint8, device=tensor.device)
    return raw.view(tensor.dtype).view(tensor.shape)
