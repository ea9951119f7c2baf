"""The trusted GPU library in this process: device memory that can be shared, as torch tensors."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.gpu.devices import first_gpu

if TYPE_CHECKING:
    import torch

_PYTHON_NANOSECONDS = 1_000_000
SOURCE = Path(__file__).with_name("support.cu")


def library_path() -> Path:
    return build_program([SOURCE], Target.gpu(first_gpu().cc), kind="shared").path


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    address = ctypes.POINTER(ctypes.c_uint64)
    library.device_allocate.argtypes = [ctypes.c_uint64, address]
    library.device_release.argtypes = [ctypes.c_uint64]
    library.share_memory.argtypes = [ctypes.c_uint64, address]
    library.time_copy.argtypes = [ctypes.c_uint64]
    return library


class SharedBuffer:
    """Device memory of this process that a worker can open too."""

    def __init__(self, tensor: torch.Tensor) -> None:
        """As large as `tensor`, and holding its values."""
        import torch

        address = ctypes.c_uint64()
        self.bytes = max(1, tensor.numel() * tensor.element_size())
        if error := _library().device_allocate(self.bytes, ctypes.byref(address)):
            raise CourseError(f"the GPU has no {self.bytes >> 20} MiB left for a case (cudaError {error})")
        self.address = address.value
        self._raw = torch.as_tensor(_Interface(self.address, self.bytes), device="cuda")
        self._dtype, self._shape = tensor.dtype, tensor.shape
        self.write(tensor)

    def tensor(self) -> torch.Tensor:
        """The memory itself."""
        import torch

        if self._shape.numel() == 0:
            return torch.empty(self._shape, dtype=self._dtype, device="cuda")
        return self._raw.view(self._dtype).view(self._shape)

    def write(self, tensor: torch.Tensor) -> None:
        if tensor.numel() > 0:
            self.tensor().copy_(tensor)

    def read_bytes(self) -> bytes:
        return self._raw.cpu().numpy().tobytes()

    def write_bytes(self, data: bytes) -> None:
        import torch

        self._raw.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def handle(self) -> list[int]:
        """Eight words that open this memory in another process."""
        words = (ctypes.c_uint64 * 8)()
        if error := _library().share_memory(self.address, words):
            raise CourseError(f"this GPU cannot share memory between processes (cudaError {error})")
        return list(words)

    def free(self) -> None:
        _library().device_release(self.address)


class _Interface:
    """Tells torch about memory that is not its own."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def time_copy(size: int) -> float:
    """Seconds for a device-to-device copy of `size` bytes, cold."""
    return _timed(_library().time_copy(size), "the copy")


def time_nothing() -> float:
    """Seconds for an empty kernel, timed as submissions are."""
    return _timed(_library().time_nothing(), "an empty kernel")


def time_empty_graph(calls: int) -> float:
    """Seconds for a graph of so many empty kernels, timed as submissions are."""
    return _timed(_library().time_empty_graph(calls), "a graph of empty kernels")


def _timed(error: int, what: str) -> float:
    """The seconds that the last clock took."""
    if error:
        raise CourseError(f"{what} could not be timed (cudaError {error})")
    return float(_library().stop_nanoseconds()) * 1e-9


def begin_replay() -> None:
    """Start the clock for a graph that this process launches on the default stream; caches are left alone."""
    if error := _library().begin_replay():
        raise CourseError(f"the GPU's clock could not be started (cudaError {error})")


def begin_timing() -> None:
    """Empty the cache and start the clock, for work that this process queues on the default stream.

    Python needs longer to queue it than a worker does, so the stream is held longer.
    """
    if error := _library().begin_timing_held(_PYTHON_NANOSECONDS):
        raise CourseError(f"the GPU's clock could not be started (cudaError {error})")


def end_timing() -> float:
    """Seconds on the device since `begin_timing` or `begin_replay`."""
    library = _library()
    if error := library.end_timing():
        raise CourseError(f"the GPU's clock could not be read (cudaError {error})")
    return float(library.stop_nanoseconds()) * 1e-9
