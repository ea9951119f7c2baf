"""Queries, keys and values [batch, head, row, element] as kernels read them that make a mistake there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.spec import Buffers, Size

from .layout import heads_of
from .shapes import is_far, strides

if TYPE_CHECKING:
    import torch

Change = Callable[["torch.Tensor"], "torch.Tensor"]
# How a kernel reads the tensor of this name.
Read = Callable[[Size, Buffers, str], "torch.Tensor"]
_PIECE = 8  # elements of 16 bytes, which change places in a swizzle


def right(size: Size, buffers: Buffers, name: str) -> torch.Tensor:
    return heads_of(size, buffers[name]).double()


def changed(change: Change) -> Read:
    return lambda size, buffers, name: change(right(size, buffers, name))


def read_for(other: str) -> Read:
    """Another tensor in its place."""
    return lambda size, buffers, name: right(size, buffers, other)


def as_neighbours(size: Size, buffers: Buffers, name: str) -> torch.Tensor:
    """Rows as if each began where the one before ends. What lies between rows that are far apart is not
    known."""
    if is_far(size.gap):
        return right(size, buffers, name)
    batch, head, _ = strides(size, buffers[name].shape[-1] - size.head_dim)
    shape = (size.batch, size.heads, size.length, size.head_dim)
    return buffers[name].as_strided(shape, (batch, head, size.head_dim, 1)).double()


def filled_up(tensor: torch.Tensor, tile: int) -> torch.Tensor:
    """With rows of zeros, to a multiple of a tile's."""
    import torch

    return torch.nn.functional.pad(tensor, (0, 0, 0, -tensor.shape[-2] % tile))


def up_to(tile: int) -> Change:
    return lambda tensor: filled_up(tensor, tile)


def swizzled(tensor: torch.Tensor) -> torch.Tensor:
    """Piece p of row r where piece p ^ r % 8 belongs."""
    import torch

    rows, columns = tensor.shape[-2:]
    row = torch.arange(rows, device=tensor.device)[:, None]
    column = torch.arange(columns, device=tensor.device)
    places = (column // _PIECE ^ row % 8) * _PIECE + column % _PIECE
    return tensor.gather(-1, places.expand(tensor.shape))


def transposed(size: int) -> Change:
    """Every matrix of size x size of a tile, transposed."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        return _by_matrices(tensor, size, lambda matrices: matrices.transpose(-1, -3))

    return change


def two_of_four_swapped(tensor: torch.Tensor) -> torch.Tensor:
    """Of the four 8 x 8 matrices that make 16 x 16, those beside and below the first change places."""

    def swap(matrices: torch.Tensor) -> torch.Tensor:
        quarters = matrices.unflatten(-1, (2, 8)).unflatten(-4, (2, 8))
        return quarters.transpose(-2, -5).flatten(-5, -4).flatten(-2, -1)

    return _by_matrices(tensor, 16, swap)


def _by_matrices(tensor: torch.Tensor, size: int, change: Change) -> torch.Tensor:
    """`change` gets [..., row of matrices, row, column of matrices, column]. Missing rows are zeros."""
    full = filled_up(tensor, size)
    rows, columns = full.shape[-2:]
    matrices = full.unflatten(-1, (columns // size, size)).unflatten(-3, (rows // size, size))
    return change(matrices).flatten(-4, -3).flatten(-2, -1)[..., : tensor.shape[-2], :]


def first_head(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:, :1].expand_as(tensor)


def next_row(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.roll(-1, -2)
