"""What tensor maps, wgmma descriptors and mbarriers mean, in numpy, without a look at the engine."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SWIZZLE_WIDTH = {0: 16, 1: 32, 2: 64, 3: 128}  # CUtensorMapSwizzle -> bytes of a row of the pattern
DESCRIPTOR_WIDTH = {0: 16, 1: 128, 2: 64, 3: 32}  # bits 62 and 63 of a descriptor


def swizzle(offsets: np.ndarray, width: int) -> np.ndarray:
    """The pattern repeats every 8 rows of 128 bytes: in each row, pieces of 16 bytes are exchanged by the
    row's number, as far as the width has pieces."""
    rows, pieces, rest = offsets // 128 % 8, offsets % 128 // 16, offsets % 16
    return offsets // 128 * 128 + (pieces ^ (rows % (width // 16))) * 16 + rest


@dataclass(frozen=True)
class Box:
    """A load of a box: sizes, box, steps and corner in elements, strides in bytes, all innermost first."""

    element: int
    swizzle: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # of dimensions 1 and up
    box: tuple[int, ...]
    steps: tuple[int, ...]
    corner: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        outer = (-(-box // step) for box, step in zip(self.box[1:], self.steps[1:], strict=True))
        return (self.box[0], *outer)

    @property
    def bytes(self) -> int:
        return int(np.prod(self.extents)) * self.element

    @property
    def tensor_bytes(self) -> int:
        outer = zip(self.sizes[1:], self.strides, strict=True)
        return self.sizes[0] * self.element + sum((size - 1) * stride for size, stride in outer)

    def load(self, memory: np.ndarray) -> np.ndarray:
        """The bytes of shared memory, from its 1024-byte boundary on."""
        grids = np.indices(self.extents[::-1])[::-1]  # by dimension, the innermost first
        strides = (self.element, *self.strides)
        inside = np.ones(self.extents[::-1], bool)
        address = np.zeros(self.extents[::-1], np.int64)
        for dimension, grid in enumerate(grids):
            step = 1 if dimension == 0 else self.steps[dimension]
            at = self.corner[dimension] + grid * step
            inside &= (at >= 0) & (at < self.sizes[dimension])
            address += at * strides[dimension]
        flat, is_inside = address.reshape(-1), inside.reshape(-1)
        values = np.zeros((flat.size, self.element), np.uint8)
        for byte in range(self.element):
            values[is_inside, byte] = memory[flat[is_inside] + byte]
        linear = np.arange(flat.size * self.element)
        shared = np.zeros(linear.size, np.uint8)
        shared[swizzle(linear, SWIZZLE_WIDTH[self.swizzle])] = values.reshape(-1)
        return shared


@dataclass(frozen=True)
class Matrix:
    """An operand of wgmma in shared memory: 64 rows (or columns) by 16 halves along k."""

    start: int
    leading: int
    stride: int
    mode: int
    transposed: bool

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
        return swizzle(linear + self.start, width) if width > 16 else linear + self.start

    def values(self, image: np.ndarray) -> np.ndarray:
        return image[self.offsets() // 2].astype(np.float64)


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
