"""The memory layout of a case: the inputs of a call, and the right result.

Sizes of a case: batch, columns, and
    source_gap    unused elements between the rows of the source page table
    captured_gap  unused elements between the rows of the captured one: it is as wide as the longest sequence
    shift         elements before the first row of the source page table
    captured_shift  the same on the captured side; if the two differ, no row can move in 16-byte units
    spare         rows and elements of the captured buffers that this batch does not use; at 0
                  the last row has no gap after it either
    source_apart, captured_apart  elements by which rows lie further apart on the device: with many of them,
                  offsets pass 2^31, and the memory between the rows is not held
    refused       1: the arguments give captured rows narrower than the columns; the kernel must refuse them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.spec import STREAM, At, Buffers, Call, Case, Scalar, Size, Words, cases_with, i32, i64
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

WORDS: Words = {
    "batch": "batch: {:,}",
    "columns": "columns: {:,}",
    "source_gap": "gap after a row of the source: {:,}",
    "captured_gap": "after a captured row: {:,}",
    "shift": "the source shifted by {}",
    "captured_shift": "the captured table shifted by {}",
    "source_apart": "rows of the source {:,} further apart",
    "captured_apart": "captured rows {:,} further apart",
    "refused": {1: "captured rows narrower than the columns"},
}

VECTORS = ("input_ids", "out_loc", "positions", "seq_lens", "cu_seqlens_k")
FIELDS = (*VECTORS, "page_table")
CUDA_ERROR_INVALID_VALUE = 1
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


_replay = cases_with(
    WORDS,
    batch=0,
    columns=0,
    source_gap=0,
    captured_gap=64,
    shift=0,
    captured_shift=0,
    spare=3,
    source_apart=0,
    captured_apart=0,
    refused=0,
)


def replay(batch: int, columns: int, *, name: str = "", **sizes: int) -> Case:
    """A case. Its default name states its sizes."""
    return _replay(name or f"{batch:,} × {columns:,}", batch=batch, columns=columns, **sizes)


def captured(field: str) -> str:
    return f"captured_{field}"


def length(size: Size, field: str) -> int:
    """The length of a vector: cu_seqlens_k has one element more, the last end."""
    return size.batch + (field == "cu_seqlens_k")


def source_stride(size: Size) -> int:
    return size.columns + size.source_gap


def captured_stride(size: Size) -> int:
    return size.columns + size.captured_gap


def buffers(size: Size, rng: Random, fields: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Sources and captured buffers of these fields, filled with random values."""
    made = {}
    for field in fields:
        if field == "page_table":
            made[field] = _table(rng, size.batch, source_stride(size), size.shift)
            rows, gap = size.batch + size.spare, 0 if size.spare else size.captured_gap
            made[captured(field)] = _table(rng, rows, captured_stride(size), size.captured_shift, gap)
        else:
            made[field] = _numbers(rng, length(size, field))
            made[captured(field)] = _numbers(rng, length(size, field) + size.spare)
    return made


def _numbers(rng: Random, count: int) -> torch.Tensor:
    # At least one: an empty batch must leave it unchanged.
    return rng.integers(_LOWEST, _HIGHEST, max(count, 1))


def _table(rng: Random, rows: int, stride: int, shift: int, cut: int = 0) -> torch.Tensor:
    """Two-dimensional if it has whole rows, so that a message names a wrong element by row and column."""
    numbers = _numbers(rng, shift + rows * stride - cut)
    return numbers.view(rows, stride) if len(numbers) == rows * stride else numbers


def call(size: Size, rng: Random, fields: tuple[str, ...]) -> Call:
    """A call that copies these fields: sources, destinations, then the sizes that matter for them."""
    starts = {"page_table": size.shift, captured("page_table"): size.captured_shift}
    names = (*fields, *map(captured, fields))
    table = "page_table" in fields
    strides = [source_stride(size) + size.source_apart, captured_stride(size) + size.captured_apart]
    apart = {
        name: stride
        for name, stride, further in zip(
            ("page_table", captured("page_table")),
            strides,
            (size.source_apart, size.captured_apart),
            strict=True,
        )
        if table and further
    }
    if size.refused:
        strides[1] = size.columns - 1
    sizes: tuple[Scalar, ...] = (i32(size.batch),)
    if table:
        sizes += (i32(size.columns), i64(strides[0]), i64(strides[1]))
    return Call(
        buffers=buffers(size, rng, fields),
        outputs=tuple(map(captured, fields)),
        arguments=(*(At(name, starts.get(name, 0)) for name in names), *sizes, STREAM),
        returns=CUDA_ERROR_INVALID_VALUE if size.refused else 0,
        apart=apart,
    )


def inputs(size: Size, rng: Random) -> Call:
    return call(size, rng, FIELDS)


def source_rows(size: Size, buffers: Buffers) -> torch.Tensor:
    """The page table of the batch, [batch, columns]."""
    return buffers["page_table"].as_strided((size.batch, size.columns), (source_stride(size), 1), size.shift)


def captured_rows(size: Size, buffers: Buffers) -> torch.Tensor:
    """The corner of the captured page table that the batch uses, [batch, columns]."""
    return buffers[captured("page_table")].as_strided(
        (size.batch, size.columns), (captured_stride(size), 1), size.captured_shift
    )


def pairs(size: Size, buffers: Buffers) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Destination and source of each copy that these buffers are for, as `.copy_` takes them."""
    found = [
        (buffers[captured(field)][: length(size, field)], buffers[field][: length(size, field)])
        for field in VECTORS
        if field in buffers
    ]
    if "page_table" in buffers:
        found.append((captured_rows(size, buffers), source_rows(size, buffers)))
    return found


def reference(size: Size, buffers: Buffers) -> None:
    """The right result: an empty batch and a refused call write nothing."""
    if size.batch == 0 or size.refused:
        return
    for to, source in pairs(size, buffers):
        to.copy_(source)
