"""Any number of strided copies, sixteen to a launch: exercise 03's kernel behind argument checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.serving.arguments import (
    ArgumentError,
    Region,
    require_disjoint,
    require_dtype,
    require_one_device,
    require_rows,
    require_tensor,
    require_type,
    require_vector,
    rows_region,
    vector_region,
)
from common.serving.device import Device, device_of
from common.serving.kernels import chosen_kernel

if TYPE_CHECKING:
    import torch

EXERCISE = "03_batched_copy"
ENTRY = "batched_copy"
VARIABLE = "MINISGL_BATCHED_COPY_KERNEL"
MOST_COPIES = 16  # of one launch
ELEMENT_SIZES = (1, 2, 4, 8)
_TYPES = ("table", "i32", "stream")


@dataclass(frozen=True, slots=True)
class Copy:
    """A tensor to copy and where it goes: one or two dimensions, the same shape and dtype. Slices are fine
    where the elements of a row lie side by side. `name` is what errors call it."""

    name: str
    source: torch.Tensor
    destination: torch.Tensor


def batched_copy(copies: Sequence[Copy], *, kernel: Path | None = None) -> None:
    """Copy all of them; more than sixteen take a launch for each sixteen.

    The copies have no order, so no destination may share a byte with any other or with a source. `kernel` is
    the CUDA file to run, see `chosen_kernel`. Raises ArgumentError before anything is written.
    """
    require_type("copies", copies, Sequence, "pass a list of Copy(name, source, destination)")
    for number, copy in enumerate(copies):
        require_type(f"copies[{number}]", copy, Copy, "pass Copy(name, source, destination)")
        _check(copy)
    require_one_device(*_named_tensors(copies))
    read = [_region(f"source of {copy.name}", copy.source) for copy in copies]
    written = [_region(copy.name, copy.destination) for copy in copies]
    require_disjoint(read, written)
    work = [copy for copy in copies if copy.source.numel()]
    if not work:
        return
    device = device_of(*_named_tensors(work))
    launch = device.function(kernel or chosen_kernel(EXERCISE, VARIABLE), ENTRY, _TYPES)
    for first in range(0, len(work), MOST_COPIES):
        batch = work[first : first + MOST_COPIES]
        table = device.table([_descriptor(device, copy) for copy in batch])
        launch(table, len(batch), device.stream())


def _named_tensors(copies: Sequence[Copy]) -> tuple[list[str], list[torch.Tensor]]:
    """Each destination before its source, which should fit it."""
    names = [name for copy in copies for name in (copy.name, f"source of {copy.name}")]
    return names, [tensor for copy in copies for tensor in (copy.destination, copy.source)]


def _check(copy: Copy) -> None:
    source, destination = copy.source, copy.destination
    require_tensor(copy.name, destination)
    require_tensor(f"source of {copy.name}", source)
    if source.shape != destination.shape:
        raise ArgumentError(
            f"{copy.name} has shape {list(destination.shape)}, but its source {list(source.shape)}: "
            "cut both to what is to be copied"
        )
    if destination.dim() not in (1, 2):
        raise ArgumentError(
            f"{copy.name} has {destination.dim()} dimensions, but must have one or two: flatten what is dense"
        )
    require_dtype(f"source of {copy.name}", source, destination.dtype)
    if destination.element_size() not in ELEMENT_SIZES:
        raise ArgumentError(
            f"{copy.name} has elements of {destination.element_size()} bytes ({destination.dtype}), "
            "but they must have 1, 2, 4 or 8: copy a view of another dtype"
        )
    for name, tensor in ((copy.name, destination), (f"source of {copy.name}", source)):
        if tensor.dim() == 1:
            require_vector(name, tensor, tensor.shape[0])
        else:
            require_rows(name, tensor, *_rows_and_columns(tensor))


def _rows_and_columns(tensor: torch.Tensor) -> tuple[int, int]:
    return (1, tensor.shape[0]) if tensor.dim() == 1 else (tensor.shape[0], tensor.shape[1])


def _region(name: str, tensor: torch.Tensor) -> Region:
    if tensor.dim() == 1:
        return vector_region(name, tensor, tensor.shape[0])
    return rows_region(name, tensor, *tensor.shape)


def _descriptor(device: Device, copy: Copy) -> tuple[int, ...]:
    """The fields of the kernel's CopyDescriptor, in their order."""
    rows, columns = _rows_and_columns(copy.source)
    return (
        device.address(copy.source, f"source of {copy.name}"),
        device.address(copy.destination, copy.name),
        rows,
        columns,
        _row_stride(copy.source),
        _row_stride(copy.destination),
        copy.source.element_size(),
    )


def _row_stride(tensor: torch.Tensor) -> int:
    return tensor.stride(0) if tensor.dim() == 2 else tensor.shape[0]
