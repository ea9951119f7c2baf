"""Common mistakes: each function changes the buffers as a kernel with that mistake would.

The steps use them too; their buffers hold only some of the fields.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.spec import Buffers, KnownMistake, Size

from .layout import (
    FIELDS,
    VECTORS,
    captured,
    captured_rows,
    captured_stride,
    length,
    reference,
    source_rows,
    source_stride,
)

Change = KnownMistake


def without(*missing: str) -> Change:
    """These fields are left as they were."""

    def change(size: Size, buffers: Buffers) -> None:
        reference(size, {name: values for name, values in buffers.items() if name not in missing})

    return change


def only(field: str) -> Change:
    return without(*(other for other in FIELDS if other != field))


def instead_of_table(copy: Change) -> Change:
    """The vectors are right; this replaces the page table's copy."""

    def change(size: Size, buffers: Buffers) -> Buffers | None:
        without("page_table")(size, buffers)
        return copy(size, buffers) if "page_table" in buffers else None

    return change


def strides(source: Callable[[Size], int], destination: Callable[[Size], int]) -> Change:
    """Uses these strides for the rows, as far as there is memory to write. What lies behind the source is not
    known."""

    def copy(size: Size, buffers: Buffers) -> Buffers:
        name = captured("page_table")
        read, write = buffers["page_table"].view(-1), buffers[name].view(-1)
        unknown = write != write
        for row in range(size.batch):
            begin, at = size.shift + row * source(size), size.captured_shift + row * destination(size)
            values = read[begin : begin + size.columns].clone()
            room = write[at : at + size.columns]
            room[: len(values)] = values[: len(room)]
            unknown[at : at + size.columns] = True
            unknown[at : at + len(values)] = False
        return {name: unknown.view(buffers[name].shape)}

    return instead_of_table(copy)


def times(factor: int, stride: Callable[[Size], int]) -> Callable[[Size], int]:
    return lambda size: factor * stride(size)


def columns_up_to(multiple: int) -> Change:
    """Copies each row only up to its last whole multiple of so many columns."""

    def copy(size: Size, buffers: Buffers) -> None:
        whole = size.columns // multiple * multiple
        captured_rows(size, buffers)[:, :whole] = source_rows(size, buffers)[:, :whole]

    return instead_of_table(copy)


def columns_past_the_end(multiple: int) -> Change:
    """Copies each row up to its next multiple of so many columns, as far as both sides have room."""

    def copy(size: Size, buffers: Buffers) -> None:
        read, write = buffers["page_table"].view(-1), buffers[captured("page_table")].view(-1)
        columns = -(-size.columns // multiple) * multiple
        for row in range(size.batch):
            values = read[size.shift + row * source_stride(size) :][:columns].clone()
            room = write[size.captured_shift + row * captured_stride(size) :][: len(values)]
            room.copy_(values[: len(room)])

    return instead_of_table(copy)


def rows_up_to(multiple: int) -> Change:
    """Copies only whole blocks of so many rows."""

    def copy(size: Size, buffers: Buffers) -> None:
        whole = size.batch // multiple * multiple
        captured_rows(size, buffers)[:whole] = source_rows(size, buffers)[:whole]

    return instead_of_table(copy)


def elements_up_to(multiple: int) -> Change:
    """Copies only whole blocks of so many elements of each vector."""

    def change(size: Size, buffers: Buffers) -> None:
        without(*VECTORS)(size, buffers)
        for field in VECTORS:
            if field in buffers:
                whole = length(size, field) // multiple * multiple
                buffers[captured(field)][:whole] = buffers[field][:whole]

    return change


def first_row_only(size: Size, buffers: Buffers) -> None:
    captured_rows(size, buffers)[:1] = source_rows(size, buffers)[:1]


def first_row_everywhere(size: Size, buffers: Buffers) -> None:
    captured_rows(size, buffers)[:] = source_rows(size, buffers)[:1]


def cu_part(begin: int, end: int) -> Change:
    """cu_seqlens_k from `begin` on, without its last `end` elements."""

    def change(size: Size, buffers: Buffers) -> None:
        without("cu_seqlens_k")(size, buffers)
        part = slice(begin, length(size, "cu_seqlens_k") - end)
        buffers[captured("cu_seqlens_k")][part] = buffers["cu_seqlens_k"][part]

    return change


def cu_into_next(size: Size, buffers: Buffers) -> None:
    """Element i goes to i + 1, as for cumulative sums whose first element is written elsewhere."""
    without("cu_seqlens_k")(size, buffers)
    buffers[captured("cu_seqlens_k")][1 : size.batch + 1] = buffers["cu_seqlens_k"][: size.batch]


def swapped(one: str, other: str) -> Change:
    def change(size: Size, buffers: Buffers) -> None:
        without(one, other)(size, buffers)
        count = size.batch
        buffers[captured(one)][:count] = buffers[other][:count]
        buffers[captured(other)][:count] = buffers[one][:count]

    return change


def columns_of(size: Size) -> int:
    return size.columns


# By field: a step is compared only with mistakes about the fields that it copies.
_OF_FIELD: dict[str, dict[str, Change]] = {
    **{
        field: {f"{field} is not copied": without(field), f"only {field} is copied": only(field)}
        for field in FIELDS
    },
}
_OF_FIELD["cu_seqlens_k"] |= {
    "cu_seqlens_k is short by its last element: it has batch_size + 1": cu_part(0, 1),
    "element 0 of cu_seqlens_k is left out": cu_part(1, 0),
    "cu_seqlens_k is off by one element": cu_into_next,
}
_OF_FIELD["page_table"] |= {
    "the page table is flattened: the captured rows are written without the gaps between them": strides(
        source_stride, columns_of
    ),
    "the source's rows are read as if there were no gaps between them": strides(columns_of, captured_stride),
    "the captured row stride is used on both sides": strides(captured_stride, captured_stride),
    "the source's row stride is used on both sides": strides(source_stride, source_stride),
    "the two row strides are swapped": strides(captured_stride, source_stride),
    "the row strides are used for units of 16 bytes, but count elements": strides(
        times(4, source_stride), times(4, captured_stride)
    ),
    "the source's row stride is used for units of 16 bytes, but counts elements": strides(
        times(4, source_stride), captured_stride
    ),
    "the captured row stride is used for units of 16 bytes, but counts elements": strides(
        source_stride, times(4, captured_stride)
    ),
    "only the first row of the page table is copied": instead_of_table(first_row_only),
    "every row of the page table is the first one": instead_of_table(first_row_everywhere),
    **{
        f"the end of each row is missing, past the last multiple of {multiple} columns": columns_up_to(
            multiple
        )
        for multiple in (2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)
    },
    **{
        f"each row is copied up to the next multiple of {multiple} columns, past max_seqlen_k": (
            columns_past_the_end(multiple)
        )
        for multiple in (4, 32, 128)
    },
    **{
        f"the last rows are missing, past the last multiple of {multiple}": rows_up_to(multiple)
        for multiple in (2, 4, 8, 16, 32, 64, 128, 256)
    },
}
_OF_ALL_VECTORS: dict[str, Change] = {
    f"the last elements of the vectors are missing, past the last multiple of {multiple}": elements_up_to(
        multiple
    )
    for multiple in (2, 4, 8, 16, 32, 64, 128, 256)
}


def known_mistakes(fields: tuple[str, ...]) -> dict[str, Change]:
    """The mistakes that a copy of these fields can have."""
    found = {name: change for field in fields for name, change in _OF_FIELD[field].items()}
    same_length = [field for field in fields if field in VECTORS[:4]]
    for number, one in enumerate(same_length):
        for other in same_length[:number]:
            found[f"{other} and {one} are swapped"] = swapped(other, one)
    return found | (_OF_ALL_VECTORS if same_length else {})
