"""The same copies with torch, Triton or the CUDA runtime, measured beside the kernels."""

from __future__ import annotations

import ctypes
import functools
from types import ModuleType
from typing import TYPE_CHECKING

from common.core.errors import CourseError
from grader.spec import Buffers, Size

from .batches import batch_of

if TYPE_CHECKING:
    import torch

COPIES = "a .copy_ for each"
FOREACH = "torch._foreach_copy_"
CAT = "torch.cat, then a .copy_ for each"
FLAT = "one .copy_ of as many bytes, packed beforehand"
TRITON_EACH = "Triton, a launch for each"
TRITON_ONE_LAUNCH = "Triton, one launch"
MEMCPY = "cudaMemcpy2DAsync for each"
_DEVICE_TO_DEVICE = 3  # cudaMemcpyKind


def pairs(size: Size, buffers: Buffers) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Destination and source of each copy."""
    return [copy.views(buffers) for copy in batch_of(size).copies]


def copies(size: Size, buffers: Buffers) -> None:
    batch_of(size).apply(buffers)


def foreach(size: Size, buffers: Buffers) -> None:
    import torch

    destinations, sources = zip(*pairs(size, buffers), strict=True)
    torch._foreach_copy_(destinations, sources)


def cat_and_scatter(size: Size, buffers: Buffers) -> None:
    """Sources into one flat buffer, and from there to the destinations: as many copies as before."""
    import torch

    both = pairs(size, buffers)
    flat = torch.cat([source.reshape(-1) for _, source in both])
    for (destination, _), part in zip(both, flat.split([d.numel() for d, _ in both]), strict=True):
        destination.copy_(part.view_as(destination))


def flat_copy(size: Size, buffers: Buffers) -> None:
    """The time if all sources were in one buffer and all destinations in another, without gaps.
    It does not pack them, so its result is wrong: a yardstick only."""
    first = next(iter(buffers.values()))
    count = sum(copy.bytes for copy in batch_of(size).copies)
    source, destination = _flat_buffers(count, first.data_ptr(), first.device)
    destination.copy_(source)


@functools.lru_cache(maxsize=32)
def _flat_buffers(count: int, of: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Two for each set of buffers, by address: data that stays in a cache would make it too fast."""
    import torch

    source = torch.empty(count, dtype=torch.uint8, device=device)
    return source, torch.empty_like(source)


def triton_each(size: Size, buffers: Buffers) -> None:
    _triton_kernels().copy_each(pairs(size, buffers))


def triton_one_launch(size: Size, buffers: Buffers) -> None:
    _triton_kernels().copy_in_one_launch(pairs(size, buffers))


def _triton_kernels() -> ModuleType:
    try:
        from . import triton_kernels
    except ImportError as missing:
        raise CourseError(
            "this comparison is written in Triton, which is not installed: "
            "`.venv/bin/pip install -r requirements/triton.txt` (Linux only)"
        ) from missing
    return triton_kernels


def memcpy_2d(size: Size, buffers: Buffers) -> None:
    """The runtime's own strided copy: pitches and widths in bytes, a call for each."""
    import torch

    copy_2d, stream = _memcpy_2d(), torch.cuda.current_stream().cuda_stream
    for copy in batch_of(size).copies:
        destination, source = copy.views(buffers)
        # It cannot repeat a source row (stride 0): then each row is a copy of its own.
        repeated = copy.source.stride < copy.columns
        height, times = (1, copy.rows) if repeated else (copy.rows, 1)
        for row in range(times if copy.elements else 0):
            error = copy_2d(
                destination[row].data_ptr(),
                max(copy.destination.stride, copy.columns) * copy.element_size,
                source[row].data_ptr(),
                max(copy.source.stride, copy.columns) * copy.element_size,
                copy.columns * copy.element_size,
                height,
                _DEVICE_TO_DEVICE,
                stream,
            )
            if error:
                what = f"{copy.rows} rows of {copy.columns * copy.element_size} bytes"
                raise CourseError(f"cudaMemcpy2DAsync of {what} failed with error {error}")


@functools.cache
def _memcpy_2d():  # type: ignore[no-untyped-def]
    """From the runtime library that torch has loaded."""
    import torch

    found = ctypes.CDLL(f"libcudart.so.{str(torch.version.cuda).partition('.')[0]}").cudaMemcpy2DAsync
    address, size = ctypes.c_void_p, ctypes.c_size_t
    found.argtypes = [address, size, address, size, size, size, ctypes.c_int, address]
    found.restype = ctypes.c_int
    return found


ALTERNATIVES = {
    COPIES: copies,
    FOREACH: foreach,
    CAT: cat_and_scatter,
    TRITON_EACH: triton_each,
    TRITON_ONE_LAUNCH: triton_one_launch,
    MEMCPY: memcpy_2d,
}
YARDSTICKS = {FLAT: flat_copy}
