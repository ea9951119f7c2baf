"""A call's buffers in the memory of a virtual GPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from common.virtual_gpu.device import VirtualGpu
from common.virtual_gpu.tensor import DeviceTensor
from grader.spec import Call

if TYPE_CHECKING:
    import torch


def allocated(gpu: VirtualGpu, call: Call, name: str, *, takes_memory: bool = True) -> DeviceTensor:
    """Memory for a buffer; what lies between rows that are far apart takes none."""
    shape, tensor = call.shape(name), call.buffers[name]
    unused = math.prod(shape) - (tensor.numel() if takes_memory else 1)  # something is always there
    return gpu.tensor(call.label(name), shape, tensor.dtype, unused=unused)


def written(memory: DeviceTensor, call: Call, name: str) -> DeviceTensor:
    """With the buffer's values."""
    call.held(name, memory.torch()).copy_(call.buffers[name])
    memory.mark_initialised()
    return memory


def read(memory: DeviceTensor, call: Call, name: str) -> torch.Tensor:
    """A copy of the buffer as it is now."""
    return call.held(name, memory.torch()).clone()
