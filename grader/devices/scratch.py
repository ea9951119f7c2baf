"""Fills the memory of a call: scratch buffers with values that no kernel can use by mistake."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from common.core.errors import CourseError

if TYPE_CHECKING:
    import torch

    from grader.spec import Call

POISON = 0xFF  # a byte: NaN in every floating type, -1 in every signed integer


def filled(call: Call, name: str) -> torch.Tensor:
    """A buffer's memory as it must be before the call: with its values, or poisoned if it is scratch."""
    import torch

    tensor = call.buffers[name]
    if name in call.apart:
        shape = call.shape(name)
        try:
            memory = torch.empty(shape, dtype=tensor.dtype, device=tensor.device)
        except torch.OutOfMemoryError:
            needed = math.prod(shape) * tensor.element_size() >> 20
            raise CourseError(f"the GPU has no {needed:,} MiB left for a case") from None
        call.held(name, memory).copy_(tensor)
        return memory
    if name not in call.scratch:
        return tensor
    held = tensor.numel() * tensor.element_size()
    raw = torch.full((held,), POISON, dtype=torch.uint8, device=tensor.device)
    return raw.view(tensor.dtype).view(tensor.shape)
