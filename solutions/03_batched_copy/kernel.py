"""Batched copy in Triton: up to 16 strided copies in one launch.

Tiles of work are dealt to the copies, as in kernel.cu. Descriptors travel as arguments of the kernel, in
tuples: there is no table in device memory to fill first, and a captured launch carries them along.
"""

from itertools import combinations
from typing import NamedTuple

import torch
import triton
import triton.language as tl

TILE = 1024  # elements of a program
MOST_COPIES = 16
SUCCESS, INVALID_VALUE = 0, 1  # of cudaError_t


class Copy(NamedTuple):
    """Tensors begin where the copy does; strides are from row to row, in elements."""

    source: torch.Tensor
    destination: torch.Tensor
    rows: int
    columns: int
    source_stride: int
    destination_stride: int
    element_size: int


@triton.jit
def copy_tiles(  # type: ignore[no-untyped-def]
    sources,
    destinations,
    columns,
    source_strides,
    destination_strides,
    elements,
    first_tiles,
    TILE: tl.constexpr,
    HUGE: tl.constexpr,
):
    tile = tl.program_id(0)
    if HUGE:  # a division of 64 bits takes a hundred instructions: only if necessary
        tile = tile.to(tl.int64)
    for i in tl.static_range(len(sources)):
        if (tile >= first_tiles[i]) & (tile < first_tiles[i + 1]):
            element = (tile - first_tiles[i]) * TILE + tl.arange(0, TILE)
            inside = element < elements[i]
            row = element // columns[i]
            column = element - row * columns[i]
            # Rows are far apart: their offsets need 64 bits.
            values = tl.load(sources[i] + row.to(tl.int64) * source_strides[i] + column, mask=inside)
            to = destinations[i] + row.to(tl.int64) * destination_strides[i] + column
            tl.store(to, values, mask=inside)


def batched_copy(descriptors: list[tuple], count: int) -> int:  # type: ignore[type-arg]
    """Copies all of them, or none if it refuses the batch; returns the cudaError_t that kernel.cu would."""
    copies = [Copy(*descriptor) for descriptor in descriptors[:count]]
    if is_refused(copies):
        return INVALID_VALUE
    copies = [copy for copy in copies if copy.rows and copy.columns]
    if not copies:
        return SUCCESS
    elements = tuple(copy.rows * copy.columns for copy in copies)
    first_tiles = [0]
    for number in elements:
        first_tiles.append(first_tiles[-1] + triton.cdiv(number, TILE))
    copy_tiles[(first_tiles[-1],)](
        tuple(copy.source for copy in copies),
        tuple(copy.destination for copy in copies),
        tuple(copy.columns for copy in copies),
        tuple(copy.source_stride for copy in copies),
        tuple(copy.destination_stride for copy in copies),
        elements,
        tuple(first_tiles),
        TILE=TILE,
        HUGE=max(elements) > (1 << 31) - TILE,
    )
    return SUCCESS


def is_refused(copies: list[Copy]) -> bool:
    """Too many, sizes that make no sense, or a destination that another copy reads or writes."""
    if len(copies) > MOST_COPIES or not all(map(is_well_formed, copies)):
        return True
    written = [Rows.of(copy, copy.destination, copy.destination_stride) for copy in copies]
    read = [Rows.of(copy, copy.source, copy.source_stride) for copy in copies]
    pairs = [*combinations(written, 2), *((one, other) for one in written for other in read)]
    return any(one.meets(other) for one, other in pairs)


def is_well_formed(copy: Copy) -> bool:
    if copy.element_size not in (1, 2, 4, 8) or min(copy.rows, copy.columns, copy.source_stride) < 0:
        return False
    return copy.rows <= 1 or copy.destination_stride >= copy.columns


class Rows(NamedTuple):
    """The bytes of one side of a copy: `rows` pieces of `row` bytes, `stride` bytes apart."""

    begin: int
    rows: int
    row: int
    stride: int

    @classmethod
    def of(cls, copy: Copy, start: torch.Tensor, stride: int) -> "Rows":
        size = copy.element_size
        rows = 1 if stride == 0 and copy.rows else copy.rows  # one row, read again and again
        return cls(start.data_ptr(), rows, copy.columns * size, stride * size)

    @property
    def end(self) -> int:
        return self.begin + (self.rows - 1) * self.stride + self.row

    def meets(self, other: "Rows") -> bool:
        """Whether any byte belongs to both."""
        if self.end <= other.begin or other.end <= self.begin:
            return False
        return any(
            other.touches(self.begin + row * self.stride, self.row) for row in range(self.rows) if other.row
        )

    def touches(self, begin: int, size: int) -> bool:
        """Whether a row has a byte in [begin, begin + size): if the first one that ends behind `begin` does
        not, none does."""
        if self.rows == 0 or size == 0:
            return False
        first = (
            0 if begin < self.begin + self.row else (begin - self.begin - self.row) // max(self.stride, 1) + 1
        )
        return first < self.rows and self.begin + first * self.stride < begin + size
