"""Checks of tensors before their addresses go to a kernel, which cannot check anything.

Each error names the argument, says what came and what was wanted. A check that passes costs a few attribute
reads: wrappers run once a decoding step, and their time counts.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from common.core.errors import CourseError

if TYPE_CHECKING:
    import torch


class ArgumentError(CourseError, ValueError):
    """An argument that a kernel must not be given."""


def require_type(name: str, value: object, kind: type, hint: str = "") -> None:
    if not isinstance(value, kind):
        way_out = f": {hint}" if hint else ""
        raise ArgumentError(f"{name} is {_kind_of(value)}, but must be of type {kind.__name__}{way_out}")


def require_tensor(name: str, value: object) -> None:
    """A torch tensor with an address: a sparse one has several, or none."""
    import torch

    require_type(name, value, torch.Tensor, "make one with torch.tensor(…)")
    assert isinstance(value, torch.Tensor)
    if value.layout is not torch.strided:
        raise ArgumentError(f"{name} is {value.layout}, but must be dense: pass .to_dense()")


def require_size(name: str, value: object, least: int = 0) -> int:
    """A whole number, whether Python's, numpy's or a tensor of one; it comes back as Python's."""
    try:
        size = operator.index(value)  # type: ignore[arg-type]  # whether it has an index is the question
    except TypeError:
        came = repr(value) if isinstance(value, float | str) else _kind_of(value)
        raise ArgumentError(f"{name} is {came}, but must be a whole number of {least} or more") from None
    if size < least:
        raise ArgumentError(f"{name} is {size}, but must be {least} or more")
    return size


def require_dtype(name: str, tensor: torch.Tensor, dtype: torch.dtype) -> None:
    if tensor.dtype is not dtype:
        raise ArgumentError(f"{name} is {tensor.dtype}, but must be {dtype}: convert it with .to({dtype})")


def require_device(name: str, tensor: torch.Tensor, device: torch.device) -> None:
    if tensor.device != device:
        raise ArgumentError(
            f"{name} is on {tensor.device}, but must be on {device}: move it there with .to({str(device)!r})"
        )


def require_one_device(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> None:
    """All on one device of torch's. Where they are not, the one that has most of them is meant, and of two
    with as many that of the first."""
    devices = [tensor.device for tensor in tensors]
    if all(device == devices[0] for device in devices):
        return
    meant = Counter(devices).most_common(1)[0][0]
    for name, tensor in zip(names, tensors, strict=True):
        require_device(name, tensor, meant)


def require_vector(name: str, tensor: torch.Tensor, length: int) -> None:
    """One dimension, at least `length` elements, no gaps."""
    shape = tensor.shape
    if len(shape) != 1:
        raise ArgumentError(f"{name} has shape {_sizes(shape)}, but must have one dimension")
    if shape[0] < length:
        raise ArgumentError(f"{name} holds {shape[0]:,} elements, but {length:,} are needed")
    if length > 1 and tensor.stride(0) != 1:
        raise ArgumentError(
            f"{name} has stride {tensor.stride(0)}, but its elements must lie side by side: "
            "pass .contiguous()"
        )


def require_rows(name: str, tensor: torch.Tensor, rows: int, columns: int) -> None:
    """Two dimensions, at least `rows` × `columns`. Rows may be apart; the elements of a row may not."""
    shape = tensor.shape
    if len(shape) != 2:
        raise ArgumentError(f"{name} has shape {_sizes(shape)}, but must have two dimensions")
    if shape[0] < rows:
        raise ArgumentError(f"{name} has {shape[0]:,} rows, but {rows:,} are needed")
    if shape[1] < columns:
        raise ArgumentError(f"{name} is too narrow: it has {shape[1]:,} columns, but {columns:,} are needed")
    if columns > 1 and tensor.stride(1) != 1:
        raise ArgumentError(
            f"{name} has stride {tensor.stride(1)} within a row, but the elements of a row must lie side by "
            "side: pass .contiguous()"
        )


def require_heads(name: str, tensor: torch.Tensor, rows: int, like: Sequence[int]) -> None:
    """Three dimensions, at least `rows` of them, each with heads of `like`'s shape, side by side."""
    shape = tensor.shape
    if len(shape) != 3:
        raise ArgumentError(f"{name} has shape {_sizes(shape)}, but must be [rows, heads, head_dim]")
    if shape[0] < rows:
        raise ArgumentError(f"{name} has {shape[0]:,} rows, but {rows:,} are needed")
    if tuple(shape[1:]) != tuple(like[1:]):
        raise ArgumentError(
            f"{name} has {shape[1]} heads of {shape[2]}, but {like[1]} heads of {like[2]} are needed"
        )
    if tensor.numel() and (tensor.stride(2), tensor.stride(1)) != (1, shape[2]):
        raise ArgumentError(
            f"{name} has strides {_sizes(tensor.stride())}, but all heads of a row must lie side by side: "
            "pass .contiguous()"
        )


class Region(NamedTuple):
    """The bytes that a copy reads or writes: rows of `row_bytes`, `stride_bytes` from one to the next."""

    name: str
    start: int
    rows: int
    row_bytes: int
    stride_bytes: int

    @property
    def empty(self) -> bool:
        return self.rows <= 0 or self.row_bytes <= 0

    @property
    def end(self) -> int:
        """Behind the last byte; the start itself when there is none."""
        return self.start if self.empty else self.start + (self.rows - 1) * self.stride_bytes + self.row_bytes

    def meets(self, other: Region) -> bool:
        """Whether any byte belongs to both."""
        if self.empty or other.empty or self.start >= other.end or other.start >= self.end:
            return False
        fewer, more = sorted((self, other), key=lambda region: region.rows)
        starts = (fewer.start + row * fewer.stride_bytes for row in range(fewer.rows))
        return any(more._meets_run(start, fewer.row_bytes) for start in starts)

    def _meets_run(self, start: int, size: int) -> bool:
        """Whether one of the rows has a byte in [start, start + size)."""
        if self.rows == 1 or self.stride_bytes == 0:
            return start < self.start + self.row_bytes and self.start < start + size
        # The first row that ends behind `start` is the only candidate that is worth a look: if it begins
        # behind the run, all that follow do.
        first = max(0, (start - self.start - self.row_bytes) // self.stride_bytes + 1)
        return first < self.rows and self.start + first * self.stride_bytes < start + size


def vector_region(name: str, tensor: torch.Tensor, length: int) -> Region:
    """The first `length` elements of a vector."""
    size = length * tensor.element_size()
    return Region(name, tensor.data_ptr(), 1, size, size)


def rows_region(name: str, tensor: torch.Tensor, rows: int, columns: int) -> Region:
    """The top left `rows` × `columns` of a matrix."""
    width = tensor.element_size()
    return Region(name, tensor.data_ptr(), rows, columns * width, tensor.stride(0) * width)


def require_disjoint(read: Sequence[Region], written: Sequence[Region]) -> None:
    """No byte is written twice, and none that is read is written: copies run in no order."""
    # Tensors of their own do not even touch: sorted by start, each ends before the next begins.
    ordered = sorted((region.start, region.end) for region in (*read, *written))
    apart = all(end <= start for (_, end), (start, _) in itertools.pairwise(ordered))
    if apart and all(region.rows <= 1 or region.stride_bytes >= region.row_bytes for region in written):
        return
    for number, target in enumerate(written):
        if target.rows > 1 and target.stride_bytes < target.row_bytes:
            raise ArgumentError(
                f"{target.name} has rows of {target.row_bytes:,} bytes, {target.stride_bytes:,} bytes apart: "
                "rows that are written must not share bytes"
            )
        for other in (*read, *written[:number]):
            if target.meets(other):
                raise ArgumentError(
                    f"{target.name} (bytes {target.start:#x} to {target.end:#x}) overlaps {other.name} "
                    f"({other.start:#x} to {other.end:#x}): what is written must be memory of its own, "
                    "so pass a copy"
                )


def _kind_of(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _sizes(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
