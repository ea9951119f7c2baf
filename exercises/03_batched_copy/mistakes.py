"""Common mistakes: each function changes the buffers as a kernel with that mistake would."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.spec import Buffers, KnownMistake, Size

from .batches import MOST_COPIES, batch_of
from .layout import OneCopy, Side

if TYPE_CHECKING:
    import torch

Change = KnownMistake


def copies_changed(to_another: Callable[[OneCopy], OneCopy]) -> Change:
    """Every copy is replaced by another one, as far as there is memory for it."""

    def change(size: Size, buffers: Buffers) -> Buffers:
        unknown: dict[str, torch.Tensor] = {}
        for copy in batch_of(size).copies:
            another = to_another(copy)
            _copy_inside(another, buffers)
            _mark_outside(another, buffers, unknown)
        return unknown

    return change


def _mark_outside(copy: OneCopy, buffers: Buffers, unknown: dict[str, torch.Tensor]) -> None:
    """Rows whose source lies outside of its buffer get what lies there."""
    first = max(0, _rows_inside(copy, copy.source, buffers))
    last = min(copy.rows, _rows_inside(copy, copy.destination, buffers))
    if first >= last or copy.columns <= 0:
        return
    side = copy.destination
    written = buffers[side.buffer]
    marked = unknown.setdefault(side.buffer, written != written).view(-1)
    for row in range(first, last):
        begin = side.offset + row * side.stride
        marked[begin : begin + copy.columns] = True


def _copy_inside(copy: OneCopy, buffers: Buffers) -> None:
    rows = min(copy.rows, _rows_inside(copy, copy.source, buffers))
    rows = min(rows, _rows_inside(copy, copy.destination, buffers))
    if rows <= 0 or copy.columns <= 0:
        return
    destination, source = dataclasses.replace(copy, rows=rows).views(buffers)
    for row, values in zip(destination, source.clone(), strict=True):  # wrong rows may overlap
        row.copy_(values)


def _rows_inside(copy: OneCopy, side: Side, buffers: Buffers) -> int:
    """How many rows of one side lie inside its buffer."""
    room = buffers[side.buffer].numel() - side.offset - copy.columns
    if side.offset < 0 or room < 0:
        return 0
    return copy.rows if side.stride == 0 else room // side.stride + 1


def with_strides(strides: Callable[[OneCopy], tuple[int, int]]) -> Change:
    """Copies with these row strides of source and destination."""

    def another(copy: OneCopy) -> OneCopy:
        source, destination = strides(copy)
        return dataclasses.replace(
            copy,
            source=dataclasses.replace(copy.source, stride=source),
            destination=dataclasses.replace(copy.destination, stride=destination),
        )

    return copies_changed(another)


def _as_bytes(copy: OneCopy) -> tuple[int, int]:
    return copy.source.stride // copy.element_size, copy.destination.stride // copy.element_size


def with_columns(columns: Callable[[int], int]) -> Change:
    return copies_changed(lambda copy: dataclasses.replace(copy, columns=columns(copy.columns)))


def with_rows(rows: Callable[[int], int]) -> Change:
    return copies_changed(lambda copy: dataclasses.replace(copy, rows=rows(copy.rows)))


def begun_earlier(unit: int) -> Change:
    """Copies begin at the last multiple of `unit` bytes before their start, if both sides have it there."""

    def another(copy: OneCopy) -> OneCopy:
        if (copy.source.offset - copy.destination.offset) * copy.element_size % unit:
            return copy
        before = copy.destination.offset * copy.element_size % unit // copy.element_size
        return dataclasses.replace(
            copy,
            columns=copy.columns + before,
            source=dataclasses.replace(copy.source, offset=copy.source.offset - before),
            destination=dataclasses.replace(copy.destination, offset=copy.destination.offset - before),
        )

    return copies_changed(another)


def only(chosen: Callable[[int, int], bool]) -> Change:
    """Only the copies for which chosen(number, count) holds."""

    def change(size: Size, buffers: Buffers) -> None:
        copies = batch_of(size).copies
        for number, copy in enumerate(copies):
            if chosen(number, len(copies)):
                _copy_inside(copy, buffers)

    return change


def elements_up_to(multiple: int) -> Change:
    """Copies only whole multiples of so many elements of each copy, counted row by row."""

    def change(size: Size, buffers: Buffers) -> None:
        for copy in batch_of(size).copies:
            if not copy.elements:
                continue
            whole_rows, rest = divmod(copy.elements // multiple * multiple, copy.columns)
            _copy_inside(dataclasses.replace(copy, rows=whole_rows), buffers)
            source, destination = (
                dataclasses.replace(side, offset=side.offset + whole_rows * side.stride)
                for side in (copy.source, copy.destination)
            )
            last = dataclasses.replace(copy, rows=1, columns=rest, source=source, destination=destination)
            _copy_inside(last, buffers)

    return change


def eight_bytes_as_four(size: Size, buffers: Buffers) -> None:
    """Treats 8-byte elements as 4-byte ones."""
    import torch

    for copy in batch_of(size).copies:
        if copy.element_size == 8:
            sides = (copy.source, copy.destination)
            words = {side.buffer: buffers[side.buffer].view(-1).view(torch.int32) for side in sides}
            source, destination = (dataclasses.replace(side, offset=2 * side.offset) for side in sides)
            _copy_inside(dataclasses.replace(copy, source=source, destination=destination), words)
        else:
            _copy_inside(copy, buffers)


def round_up(multiple: int) -> Callable[[int], int]:
    return lambda number: -(-number // multiple) * multiple


def round_down(multiple: int) -> Callable[[int], int]:
    return lambda number: number // multiple * multiple


def all_but(missing: int) -> Change:
    return only(lambda number, count: number != missing)


KNOWN_MISTAKES: dict[str, Change] = {
    "only the first copy is done": only(lambda number, count: number == 0),
    "the last copy is left out": only(lambda number, count: number < count - 1),
    "the first copy is left out": only(lambda number, count: number > 0),
    **{f"copy {missing} is left out": all_but(missing) for missing in range(1, MOST_COPIES - 1)},
    "the destination is written as if its rows were dense: its row stride is ignored": with_strides(
        lambda copy: (copy.source.stride, copy.columns)
    ),
    "the source is read as if its rows were dense: its row stride is ignored": with_strides(
        lambda copy: (copy.columns, copy.destination.stride)
    ),
    "both sides are taken for dense: the row strides are ignored": with_strides(
        lambda copy: (copy.columns, copy.columns)
    ),
    "the destination's row stride is used on both sides": with_strides(
        lambda copy: (copy.destination.stride, copy.destination.stride)
    ),
    "the source's row stride is used on both sides": with_strides(
        lambda copy: (copy.source.stride, copy.source.stride)
    ),
    "the two row strides are swapped": with_strides(
        lambda copy: (copy.destination.stride, copy.source.stride)
    ),
    **{
        f"{what}: from elements to bytes they are multiplied twice": with_strides(strides)
        for what, strides in {
            "the row strides are too large by the element size": lambda copy: (
                copy.source.stride * copy.element_size,
                copy.destination.stride * copy.element_size,
            ),
            "the source's row strides are too large by the element size": lambda copy: (
                copy.source.stride * copy.element_size,
                copy.destination.stride,
            ),
            "the destination's row strides are too large by the element size": lambda copy: (
                copy.source.stride,
                copy.destination.stride * copy.element_size,
            ),
        }.items()
    },
    "the row strides are used as bytes, but count elements": with_strides(_as_bytes),
    "only the first row of each copy is done": with_rows(lambda rows: min(rows, 1)),
    "the last row of each copy is missing": with_rows(lambda rows: rows - 1),
    "elements of 8 bytes are taken for 4: the element size is ignored": eight_bytes_as_four,
    **{
        f"a copy that begins inside a unit of {unit} bytes writes the elements before it, too": begun_earlier(
            unit
        )
        for unit in (4, 8, 16)
    },
    **{
        f"the end of each row is missing, past the last multiple of {multiple} elements": with_columns(
            round_down(multiple)
        )
        for multiple in (2, 4, 8, 16, 32, 64, 128, 256)
    },
    **{
        f"rows are written past their end, up to a multiple of {multiple} elements": with_columns(
            round_up(multiple)
        )
        for multiple in (2, 4, 8, 16, 32)
    },
    **{
        f"the end of each copy is missing, past the last multiple of {multiple} elements": elements_up_to(
            multiple
        )
        for multiple in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    },
}
