"""Tensors in the memory of a virtual GPU, and the harness's views of them."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from common.virtual_gpu.engine import Engine
from common.virtual_gpu.wire import EngineDied
from common.worker.calls import DevicePointer

if TYPE_CHECKING:
    import torch

_ALIGNMENT = 256
_POISON = 0xFF  # NaN in every float type, -1 in every signed integer
_POISONED = memoryview(bytes([_POISON]) * (1 << 20))
# numpy has no type of its own for these; a view of them shows the bits.
_BITS_ONLY = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def dtype_name(dtype: Any) -> str:
    """One name for a type, whether it came as text, from numpy or from torch."""
    text = str(dtype)
    if text.startswith("torch."):
        return text.removeprefix("torch.")
    if text in _BITS_ONLY:
        return text
    try:
        return np.dtype(dtype).name
    except TypeError as problem:
        raise TypeError(
            f"{dtype!r} is not an element type: pass a name such as float16, or a numpy or torch type"
        ) from problem


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(_BITS_ONLY.get(name, name))


class DeviceTensor:
    """A dense tensor in device memory. `tensor + n` is a pointer n bytes into it.

    Its views are the very memory that kernels work on. Whoever writes through a view says so with
    `mark_initialised`; `write` and `fill` do that themselves.
    """

    def __init__(
        self, engine: Engine, name: str, shape: tuple[int, ...], dtype: str, *, unused: int = 0
    ) -> None:
        """`unused` elements of it will be touched by nobody, and take no memory."""
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.size = math.prod(shape)
        self.bytes = self.size * numpy_dtype(dtype).itemsize
        if self.bytes <= 0:
            raise ValueError(f"{name} of shape {shape} has no elements: device memory comes in whole bytes")
        if engine.greeting is None:
            raise EngineDied("this virtual GPU has been closed")
        self._engine = engine
        self.address = engine.channel.allocate(
            name, self.bytes, _ALIGNMENT, unused * numpy_dtype(dtype).itemsize
        )
        offset = self.address - engine.greeting.device_base
        inside = offset % mmap.ALLOCATIONGRANULARITY
        self._window = mmap.mmap(
            engine.greeting.device_descriptor, inside + self.bytes, offset=offset - inside
        )
        self._memory = memoryview(self._window)[inside : inside + self.bytes]

    def __add__(self, offset: int) -> DevicePointer:
        return DevicePointer(self.address + offset)

    def __repr__(self) -> str:
        return f"DeviceTensor({self.name!r}, {self.shape}, {self.dtype}, at {self.address:#x})"

    def numpy(self) -> np.ndarray[Any, Any]:
        """The memory as an array; types that numpy lacks show as unsigned integers of their width."""
        return np.frombuffer(self._memory, dtype=numpy_dtype(self.dtype)).reshape(self.shape)

    def torch(self) -> torch.Tensor:
        """The memory as a CPU tensor."""
        import torch

        return torch.frombuffer(self._memory, dtype=getattr(torch, self.dtype)).reshape(self.shape)

    def write(self, values: np.ndarray[Any, Any]) -> None:
        self.numpy()[...] = values
        self.mark_initialised()

    def fill(self, value: float | int) -> None:
        if self.dtype in _BITS_ONLY:
            self.torch().fill_(value)
        else:
            self.numpy().fill(value)
        self.mark_initialised()

    def poison(self) -> None:
        """Fill with a pattern that no right answer holds. It does not count as written."""
        greeting = self._engine.greeting
        assert greeting is not None, "the engine is closed"
        begin = self.address - greeting.device_base
        end = begin + self.bytes
        # By the file: a write gets new pages in half the time that a first access to mapped ones takes.
        while begin < end:
            begin += os.pwrite(greeting.device_descriptor, _POISONED[: end - begin], begin)

    def mark_initialised(self) -> None:
        """Tell the engine that all of this tensor has been written."""
        mark_initialised([self])

    def free(self) -> None:
        """Give the memory back to the device. Views made earlier stay valid, but show nothing of note."""
        self._engine.channel.free(self.address)


def mark_initialised(tensors: Sequence[DeviceTensor]) -> None:
    """The same, of several tensors of one engine at once."""
    if tensors:
        tensors[0]._engine.channel.initialise([(one.address, one.bytes) for one in tensors])
