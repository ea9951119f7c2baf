"""The memory layout of a case: the inputs of a call, and the right result.

A case is a batch of copies. Its sizes name the family that builds the batch (see batches.py), and the
numbers for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.spec import STREAM, At, Buffers, Call, HostTable, i32, i64
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch


CUDA_ERROR_INVALID_VALUE = 1
FIELDS = (  # of a CopyDescriptor
    *("source", "destination", "rows", "columns"),
    *("source_stride", "destination_stride", "element_size"),
)
DTYPES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


@dataclass(frozen=True)
class Side:
    """Where the rows of a copy begin in a buffer, and how far apart they are, in elements. On the device they
    may lie `further` apart: that memory is not held."""

    buffer: str
    offset: int = 0
    stride: int = 0
    further: int = 0

    @property
    def stride_on_device(self) -> int:
        return self.stride + self.further


@dataclass(frozen=True)
class OneCopy:
    """rows × columns elements from one side to the other."""

    source: Side
    destination: Side
    rows: int
    columns: int
    element_size: int = 4

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    @property
    def bytes(self) -> int:
        return self.elements * self.element_size

    @property
    def unit(self) -> int:
        """Bytes of the widest unit that divides both starts, both strides and the row."""
        numbers = [self.source.offset, self.destination.offset, self.columns]
        if self.rows > 1:
            numbers += [self.source.stride_on_device, self.destination.stride_on_device]
        return _widest(numbers, self.element_size)

    @property
    def unit_between_edges(self) -> int:
        """The same, if single elements may come before and after the units of a row."""
        numbers = [self.source.offset - self.destination.offset]
        if self.rows > 1:
            numbers += [self.source.stride_on_device, self.destination.stride_on_device]
        return _widest(numbers, self.element_size)

    def views(self, buffers: Buffers) -> tuple[torch.Tensor, torch.Tensor]:
        """Destination and source as [rows, columns], as `.copy_` takes them."""
        return self._view(buffers, self.destination), self._view(buffers, self.source)

    def _view(self, buffers: Buffers, side: Side) -> torch.Tensor:
        return buffers[side.buffer].as_strided((self.rows, self.columns), (side.stride, 1), side.offset)


@dataclass(frozen=True)
class Batch:
    """Copies, and the shape and element size of every buffer they name."""

    copies: tuple[OneCopy, ...]
    buffers: Mapping[str, tuple[tuple[int, ...], int]]
    refused: bool = False

    def call(self, rng: Random) -> Call:
        written = {copy.destination.buffer for copy in self.copies}
        return Call(
            buffers={name: _values(rng, shape, size) for name, (shape, size) in self.buffers.items()},
            outputs=tuple(name for name in self.buffers if name in written),
            arguments=(
                HostTable(
                    tuple(
                        (
                            At(copy.source.buffer, copy.source.offset),
                            At(copy.destination.buffer, copy.destination.offset),
                            *map(i64, (copy.rows, copy.columns)),
                            i64(copy.source.stride_on_device),
                            i64(copy.destination.stride_on_device),
                            i64(copy.element_size),
                        )
                        for copy in self.copies
                    ),
                    "descriptors",
                    FIELDS,
                ),
                i32(len(self.copies)),
                STREAM,
            ),
            returns=CUDA_ERROR_INVALID_VALUE if self.refused else 0,
            apart={
                side.buffer: side.stride_on_device
                for copy in self.copies
                for side in (copy.source, copy.destination)
                if side.further
            },
        )

    def apply(self, buffers: Buffers) -> None:
        """All copies, with torch; none if the batch must be refused."""
        for copy in () if self.refused else self.copies:
            destination, source = copy.views(buffers)
            destination.copy_(source)


def _widest(numbers: Sequence[int], element_size: int) -> int:
    return next(unit for unit in (16, 8, 4, 2, 1) if all(n * element_size % unit == 0 for n in numbers))


def _values(rng: Random, shape: tuple[int, ...], element_size: int) -> torch.Tensor:
    """Random bit patterns, so that no two rows are equal."""
    import torch

    drawn = rng.bytes(math.prod(shape) * element_size)
    return drawn.view(getattr(torch, DTYPES[element_size])).view(shape)
