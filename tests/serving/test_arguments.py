"""The checks of tensors before their addresses go to a kernel."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import CourseError
from common.serving.arguments import (
    ArgumentError,
    Region,
    require_device,
    require_disjoint,
    require_dtype,
    require_rows,
    require_vector,
    rows_region,
    vector_region,
)

REGIONS = st.builds(
    Region,
    st.just("drawn"),
    start=st.integers(0, 60),
    rows=st.integers(0, 5),
    row_bytes=st.integers(0, 9),
    stride_bytes=st.integers(0, 14),
)


def touched(region: Region) -> set[int]:
    """Every byte of a region, one by one."""
    starts = (region.start + row * region.stride_bytes for row in range(region.rows))
    return {start + byte for start in starts for byte in range(region.row_bytes)}


@given(REGIONS, REGIONS)
@settings(max_examples=800, deadline=None)
def test_regions_meet_where_a_byte_belongs_to_both(one: Region, other: Region) -> None:
    assert one.meets(other) is other.meets(one) is bool(touched(one) & touched(other))


@given(REGIONS)
@settings(deadline=None)
def test_a_region_ends_behind_its_last_byte(region: Region) -> None:
    assert region.end == max(touched(region), default=region.start - 1) + 1


def distinct(region: Region) -> bool:
    return len(touched(region)) == max(region.rows, 0) * region.row_bytes


@given(st.lists(REGIONS, max_size=3), st.lists(REGIONS, max_size=3))
@settings(max_examples=400, deadline=None)
def test_copies_are_refused_exactly_when_bytes_are_written_twice_or_read_and_written(
    read: list[Region], written: list[Region]
) -> None:
    seen: set[int] = set()
    clash = any(not distinct(region) and region.row_bytes for region in written)
    for region in written:
        clash = clash or bool(touched(region) & seen)
        seen |= touched(region)
    clash = clash or any(touched(region) & seen for region in read)
    if clash:
        with pytest.raises(ArgumentError):
            require_disjoint(read, written)
    else:
        require_disjoint(read, written)


def test_columns_of_one_tensor_are_apart_and_shared_ones_are_not() -> None:
    table = torch.zeros(8, 100, dtype=torch.int32)
    left, right = (rows_region(name, table[:, at:], 8, 50) for name, at in (("left", 0), ("right", 50)))
    require_disjoint([left], [right])
    wider = rows_region("wider", table[:, 49:], 8, 50)
    with pytest.raises(ArgumentError, match=r"wider \(bytes 0x\w+ to 0x\w+\) overlaps left"):
        require_disjoint([left], [wider])


def test_rows_that_share_bytes_are_refused() -> None:
    row = torch.zeros(1, 10, dtype=torch.int32).expand(3, 10)
    with pytest.raises(ArgumentError, match="rows of 40 bytes, 0 bytes apart"):
        require_disjoint([], [rows_region("table", row, 3, 10)])
    require_disjoint([rows_region("table", row, 3, 10)], [])  # to read them is no mistake


def test_an_error_says_what_came_and_what_was_wanted() -> None:
    vector, table = torch.zeros(7), torch.zeros(4, 6)
    expectations = [
        (lambda: require_dtype("ids", vector, torch.int32), "ids is torch.float32, but must be torch.int32"),
        (
            lambda: require_device("ids", vector, torch.device("cuda", 0)),
            "ids is on cpu, but must be on cuda:0",
        ),
        (lambda: require_vector("ids", table, 3), r"ids has shape \[4, 6\], but must have one dimension"),
        (lambda: require_vector("ids", vector, 8), "ids holds 7 elements, but 8 are needed"),
        (
            lambda: require_vector("ids", vector[::2], 4),
            "ids has stride 2, but its elements must lie side by",
        ),
        (lambda: require_rows("table", vector, 1, 1), r"table has shape \[7\], but must have two dimensions"),
        (lambda: require_rows("table", table, 5, 6), "table has 4 rows, but 5 are needed"),
        (lambda: require_rows("table", table, 4, 7), "too narrow: it has 6 columns, but 7 are needed"),
        (lambda: require_rows("table", table.t(), 6, 4), "table has stride 6 within a row"),
    ]
    for check, words in expectations:
        with pytest.raises(ArgumentError, match=words):
            check()


def test_what_is_fine_passes() -> None:
    vector, table = torch.zeros(7), torch.zeros(4, 6)
    require_dtype("ids", vector, torch.float32)
    require_device("ids", vector, torch.device("cpu"))
    require_vector("ids", vector, 7)
    require_vector("ids", vector[::2], 1)  # one element has no neighbour
    require_rows("table", table[:, :3], 4, 3)
    assert vector_region("ids", vector, 3).end - vector.data_ptr() == 12


def test_it_is_an_error_of_the_course_and_of_the_caller() -> None:
    assert issubclass(ArgumentError, CourseError)
    assert issubclass(ArgumentError, ValueError)
