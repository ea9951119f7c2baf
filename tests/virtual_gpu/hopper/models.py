"""What tensor maps, wgmma descriptors and mbarriers mean, in numpy, without a look at the engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

SWIZZLE_WIDTH = {0: 16, 1: 32, 2: 64, 3: 128}  # CUtensorMapSwizzle -> bytes of a row of the pattern
DESCRIPTOR_WIDTH = {0: 16, 1: 128, 2: 64, 3: 32}  # bits 62 and 63 of a descriptor


def swizzle(offsets: np.ndarray, width: int) -> np.ndarray:
    """The pattern repeats every 8 rows of 128 bytes: in each row, pieces of 16 bytes are exchanged by the
    row's number, as far as the width has pieces."""
    rows, pieces, rest = offsets // 128 % 8, offsets % 128 // 16, offsets % 16
    return offsets // 128 * 128 + (pieces ^ (rows % (width // 16))) * 16 + rest


UNTOUCHED = 0xEE  # what the driver fills shared memory with


@dataclass(frozen=True)
class Box:
    """A load of a box: sizes, box, steps and corner in elements, strides in bytes, all innermost first.

    An interleaved tensor has elements of 16 or 32 bytes. One slice of it is loaded: the dimension before the
    last has the slices.
    """

    element: int
    swizzle: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # of dimensions 1 and up
    box: tuple[int, ...]
    steps: tuple[int, ...]
    corner: tuple[int, ...]
    interleave: int = 0

    @property
    def unit(self) -> int:
        """Bytes of what a coordinate of the first dimension counts."""
        return (0, 16, 32)[self.interleave] or self.element

    @property
    def extents(self) -> tuple[int, ...]:
        outer = [-(-box // step) for box, step in zip(self.box[1:], self.steps[1:], strict=True)]
        if self.interleave:
            outer[-2] = 1
        return (self.box[0], *outer)

    @property
    def row(self) -> int:
        return self.box[0] * self.unit

    @property
    def pitch(self) -> int:
        return SWIZZLE_WIDTH[self.swizzle] if self.swizzle and not self.interleave else self.row

    @property
    def bytes(self) -> int:
        return int(np.prod(self.extents)) * self.unit

    @property
    def reach(self) -> int:
        """Bytes of shared memory from the copy's place on that it can touch."""
        return whole(self.bytes // self.row * self.pitch, SWIZZLE_WIDTH[self.swizzle])

    @property
    def tensor_bytes(self) -> int:
        outer = zip(self.sizes[1:], self.strides, strict=True)
        return self.sizes[0] * self.unit + sum((size - 1) * stride for size, stride in outer)

    def load(self, memory: np.ndarray) -> np.ndarray:
        """The bytes of shared memory, from its 1024-byte boundary on."""
        grids = np.indices(self.extents[::-1])[::-1]  # by dimension, the innermost first
        strides = (self.unit, *self.strides)
        inside = np.ones(self.extents[::-1], bool)
        address = np.zeros(self.extents[::-1], np.int64)
        for dimension, grid in enumerate(grids):
            step = 1 if dimension == 0 else self.steps[dimension]
            at = self.corner[dimension] + grid * step
            inside &= (at >= 0) & (at < self.sizes[dimension])
            address += at * strides[dimension]
        flat, is_inside = address.reshape(-1), inside.reshape(-1)
        values = np.zeros((flat.size, self.unit), np.uint8)
        for byte in range(self.unit):
            values[is_inside, byte] = memory[flat[is_inside] + byte]
        rows = values.reshape(-1, self.row)
        return placed(rows, self.pitch, SWIZZLE_WIDTH[self.swizzle])


def whole(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def placed(rows: np.ndarray, pitch: int, width: int) -> np.ndarray:
    """Rows of bytes in shared memory, `pitch` bytes apart and swizzled."""
    shared = np.full(whole(rows.shape[0] * pitch, width), UNTOUCHED, np.uint8)
    offsets = np.arange(rows.shape[0])[:, None] * pitch + np.arange(rows.shape[1])
    shared[swizzle(offsets, width)] = rows
    return shared


@dataclass(frozen=True)
class Pixels:
    """A load of the im2col kind: pixels of a bounding box, row by row, plane by plane and image by image."""

    element: int
    swizzle: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # of dimensions 1 and up
    channels: int
    count: int
    steps: tuple[int, ...]
    corner: tuple[int, ...]
    lower: tuple[int, ...]  # W first, as the two that follow
    upper: tuple[int, ...]
    offset: tuple[int, ...]
    interleave: int = 0

    @property
    def unit(self) -> int:
        return (0, 16, 32)[self.interleave] or self.element

    @property
    def row(self) -> int:
        """Bytes of a pixel."""
        return self.unit if self.interleave else self.channels * self.element

    @property
    def pitch(self) -> int:
        return SWIZZLE_WIDTH[self.swizzle] if self.swizzle and not self.interleave else self.row

    @property
    def bytes(self) -> int:
        return self.row * self.count

    @property
    def reach(self) -> int:
        return whole(self.pitch * self.count, SWIZZLE_WIDTH[self.swizzle])

    @property
    def tensor_bytes(self) -> int:
        outer = zip(self.sizes[1:], self.strides, strict=True)
        return self.sizes[0] * self.unit + sum((size - 1) * stride for size, stride in outer)

    @property
    def spatial(self) -> slice:
        """Where W, H and D are among the dimensions."""
        first = 0 if self.interleave else 1
        return slice(first, first + len(self.lower))

    def places(self) -> Iterator[tuple[int, ...]]:
        """(W, H, D, N) of each pixel of the bounding box, without end."""
        missing = 3 - len(self.lower)
        low = (*self.lower, *[0] * missing)
        sizes, starts = self.sizes[self.spatial], self.corner[self.spatial]
        high = (*(size - 1 + up for size, up in zip(sizes, self.upper, strict=True)), *[0] * missing)
        w, h, d = (*starts, *[0] * missing)
        steps = (*self.steps[self.spatial], *[1] * missing)
        for n in itertools.count(self.corner[-1], self.steps[-1]):
            for z in range(d, high[2] + 1, steps[2]):
                for y in range(h, high[1] + 1, steps[1]):
                    for x in range(w, high[0] + 1, steps[0]):
                        yield x, y, z, n
                    w = low[0]  # the start counts once
                h = low[1]
            d = low[2]

    def load(self, memory: np.ndarray) -> np.ndarray:
        rows = np.zeros((self.count, self.row), np.uint8)
        for row, place in zip(rows, self.places(), strict=False):
            at = [*self.corner]
            at[-1] = place[3]
            at[self.spatial] = [p + o for p, o in zip(place[: len(self.lower)], self.offset, strict=True)]
            if self.interleave:
                rest, first, width = [*self._axes(at)], 0, self.unit
            else:
                rest, first, width = [*self._axes(at)][1:], at[0] * self.element, self.sizes[0] * self.element
            if not all(0 <= c < size for c, size, _ in rest):
                continue
            begin = sum(c * stride for c, _, stride in rest)
            for byte in range(self.row):
                if 0 <= first + byte < width:
                    row[byte] = memory[begin + first + byte]
        return placed(rows, self.pitch, SWIZZLE_WIDTH[self.swizzle])

    def _axes(self, at: list[int]) -> Iterator[tuple[int, int, int]]:
        return zip(at, self.sizes, (self.unit, *self.strides), strict=True)


@dataclass(frozen=True)
class Matrix:
    """An operand of wgmma in shared memory: 64 rows (or columns) by 16 halves, or 256 bits, along k."""

    start: int
    leading: int
    stride: int
    mode: int
    transposed: bool
    base_offset: int = 0  # rows of 128 bytes from a boundary of the swizzle's pattern to where it begins

    def offsets(self) -> np.ndarray:
        """The byte offset of element (i, k), by the canonical layouts of the PTX manual."""
        i, k = np.indices((64, 16))
        width = DESCRIPTOR_WIDTH[self.mode]
        if width == 16:
            outer, inner = (k, i) if self.transposed else (i, k)
            # Pieces of 8 by 8 halves: `stride` between them along i, `leading` along k.
            linear = i // 8 * self.stride + k // 8 * self.leading + outer % 8 * 16 + inner % 8 * 2
        elif self.transposed:
            per_row = width // 2
            linear = i // per_row * self.leading + i % per_row * 2 + k // 8 * self.stride + k % 8 * width
        else:
            linear = i // 8 * self.stride + i % 8 * width + k * 2
        if width == 16:
            return linear + self.start
        begin = 128 * self.base_offset
        return swizzle(linear + self.start - begin, width) + begin

    def values(self, image: np.ndarray) -> np.ndarray:
        return image[self.offsets() // 2].astype(np.float64)

    def bits(self, image: np.ndarray) -> np.ndarray:
        """64 rows of 256 bits, each 0 or 1."""
        pairs = self.offsets()[:, :, None] + np.arange(2)
        return np.unpackbits(image.view(np.uint8)[pairs].reshape(64, 32), axis=1).astype(np.int64)


def registers_of(result: np.ndarray) -> np.ndarray:
    """A 64 by 64 result as the 32 registers of 128 threads."""
    threads, registers = np.indices((128, 32))
    lane = threads % 32
    row = threads // 32 * 16 + lane // 4 + 8 * (registers // 2 % 2)
    column = registers // 4 * 8 + lane % 4 * 2 + registers % 2
    return result[row, column]


@dataclass
class Barrier:
    """An mbarrier: what its phase lacks, and how many phases are over."""

    count: int
    pending: int = field(init=False)
    bytes: int = 0
    phase: int = 0
    state: tuple[int, int] = (0, 0)  # of the latest arrival: phase and pending count

    def __post_init__(self) -> None:
        self.pending = self.count

    def _settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.count

    def arrive(self, count: int = 1, *, drops: bool = False, expects: int = 0) -> int:
        self.bytes += expects
        self.state = (self.phase, self.pending)
        self.pending -= count
        self.count -= drops
        self._settle()
        return self.state[1]

    def complete(self, count: int) -> None:
        self.bytes -= count
        self._settle()

    def parity_is_over(self, parity: int) -> bool:
        return self.phase % 2 != parity

    def state_is_over(self) -> bool:
        return self.phase != self.state[0]
