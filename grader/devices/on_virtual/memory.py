"""A call's buffers in the memory of a virtual GPU."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from common.virtual_gpu.device import VirtualGpu
from common.virtual_gpu.tensor import DeviceTensor, mark_initialised
from grader.spec import Call

if TYPE_CHECKING:
    import torch


def allocated(gpu: VirtualGpu, call: Call, name: str, *, takes_memory: bool = True) -> DeviceTensor:
    """Memory for a buffer; what lies between rows that are far apart takes none."""
    shape, tensor = call.shape(name), call.buffers[name]
    unused = math.prod(shape) - (tensor.numel() if takes_memory else 1)  # something is always there
    return gpu.tensor(call.label(name), shape, tensor.dtype, unused=unused)


def write(tensors: Mapping[str, DeviceTensor], call: Call, names: Collection[str]) -> None:
    """These buffers with their values."""
    for name in names:
        call.held(name, tensors[name].torch()).copy_(call.buffers[name])
    mark_initialised([tensors[name] for name in names])


def read(memory: DeviceTensor, call: Call, name: str) -> torch.Tensor:
    """A copy of the buffer as it is now."""
    return call.held(name, memory.torch()).clone()
