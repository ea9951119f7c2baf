"""The same copies in Triton, for comparison: one launch per copy, and one for all. Imports Triton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch

Pairs = Sequence[tuple["torch.Tensor", "torch.Tensor"]]  # destination and source, [rows, columns] each
BLOCK = 1024  # elements of a program
_MOST_INT32 = (1 << 31) - BLOCK


@triton.jit
def copy_elements(  # type: ignore[no-untyped-def]
    source, destination, tile, columns, source_stride, destination_stride, elements, BLOCK: tl.constexpr
):
    """The elements of one tile. Rows are far apart: their offsets need 64 bits."""
    element = tile * BLOCK + tl.arange(0, BLOCK)
    inside = element < elements
    row = element // columns
    column = element - row * columns
    values = tl.load(source + row.to(tl.int64) * source_stride + column, mask=inside)
    tl.store(destination + row.to(tl.int64) * destination_stride + column, values, mask=inside)


@triton.jit
def one_copy(  # type: ignore[no-untyped-def]
    source,
    destination,
    columns,
    source_stride,
    destination_stride,
    elements,
    BLOCK: tl.constexpr,
    HUGE: tl.constexpr,
):
    tile = tl.program_id(0)
    if HUGE:
        tile = tile.to(tl.int64)
    copy_elements(source, destination, tile, columns, source_stride, destination_stride, elements, BLOCK)


@triton.jit
def all_copies(  # type: ignore[no-untyped-def]
    sources,
    destinations,
    columns,
    source_strides,
    destination_strides,
    elements,
    first_tiles,
    BLOCK: tl.constexpr,
    HUGE: tl.constexpr,
):
    tile = tl.program_id(0)
    if HUGE:
        tile = tile.to(tl.int64)
    for i in tl.static_range(len(sources)):
        if (tile >= first_tiles[i]) & (tile < first_tiles[i + 1]):
            copy_elements(
                sources[i],
                destinations[i],
                tile - first_tiles[i],
                columns[i],
                source_strides[i],
                destination_strides[i],
                elements[i],
                BLOCK,
            )


def copy_each(pairs: Pairs) -> None:
    """One launch per copy."""
    for destination, source in pairs:
        if count := destination.numel():
            one_copy[(triton.cdiv(count, BLOCK),)](
                source,
                destination,
                destination.shape[1],
                source.stride(0),
                destination.stride(0),
                count,
                BLOCK=BLOCK,
                HUGE=count > _MOST_INT32,
            )


def copy_in_one_launch(pairs: Pairs) -> None:
    """All copies in one launch: each copy gets a range of tiles, and its first tile is an argument."""
    pairs = [pair for pair in pairs if pair[0].numel()]
    if not pairs:
        return
    destinations, sources = zip(*pairs, strict=True)
    counts = tuple(destination.numel() for destination in destinations)
    first_tiles = [0]
    for count in counts:
        first_tiles.append(first_tiles[-1] + triton.cdiv(count, BLOCK))
    all_copies[(first_tiles[-1],)](
        sources,
        destinations,
        tuple(destination.shape[1] for destination in destinations),
        tuple(source.stride(0) for source in sources),
        tuple(destination.stride(0) for destination in destinations),
        counts,
        tuple(first_tiles),
        BLOCK=BLOCK,
        HUGE=max(counts) > _MOST_INT32,
    )
