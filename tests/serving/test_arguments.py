"""The checks of tensors before their addresses go to a kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.core.errors import CourseError
from common.serving.arguments import (
    ArgumentError,
    Region,
    require_device,
    require_disjoint,
    require_dtype,
    require_heads,
    require_one_device,
    require_rows,
    require_size,
    require_tensor,
    require_type,
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
@settings(max_examples=800)
def test_regions_meet_where_a_byte_belongs_to_both(one: Region, other: Region) -> None:
    assert one.meets(other) is other.meets(one) is bool(touched(one) & touched(other))


@given(REGIONS)
def test_a_region_ends_behind_its_last_byte(region: Region) -> None:
    assert region.end == max(touched(region), default=region.start - 1) + 1


def distinct(region: Region) -> bool:
    return len(touched(region)) == max(region.rows, 0) * region.row_bytes


@given(st.lists(REGIONS, max_size=3), st.lists(REGIONS, max_size=3))
@settings(max_examples=400)
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


@pytest.mark.parametrize("value", [4, np.int64(4), torch.tensor(4), torch.tensor([4]), True + 3])
def test_a_size_is_any_whole_number_and_comes_back_as_pythons(value: object) -> None:
    size = require_size("batch_size", value)
    assert size == 4
    assert type(size) is int


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2.0, "batch_size is 2.0, but must be a whole number of 1 or more"),
        ("4", "batch_size is '4', but must be a whole number"),
        (None, "batch_size is None, but must be a whole number"),
        (torch.tensor(4.0), "batch_size is of type Tensor, but must be a whole number"),
        (torch.tensor([1, 2]), "batch_size is of type Tensor, but must be a whole number"),
        (np.arange(2), "batch_size is of type ndarray, but must be a whole number"),
        (0, "batch_size is 0, but must be 1 or more"),
        (-3, "batch_size is -3, but must be 1 or more"),
    ],
)
def test_what_is_no_size_is_refused(value: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        require_size("batch_size", value, least=1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2], r"ids is of type list, but must be of type Tensor: make one with torch.tensor"),
        (None, "ids is None, but must be of type Tensor"),
        (np.arange(3), "ids is of type ndarray, but must be of type Tensor"),
        (torch.arange(3).to_sparse(), "ids is torch.sparse_coo, but must be dense"),
    ],
)
def test_what_is_no_tensor_with_an_address_is_refused(value: object, words: str) -> None:
    require_tensor("ids", torch.tensor(3))
    with pytest.raises(ArgumentError, match=words):
        require_tensor("ids", value)


def test_a_type_is_named_with_the_way_out() -> None:
    require_type("step", 3, int)
    with pytest.raises(ArgumentError, match="^step is of type str, but must be of type int$"):
        require_type("step", "3", int)


def test_the_one_tensor_that_is_elsewhere_is_named_even_if_it_is_the_first() -> None:
    here, there = torch.zeros(2), torch.zeros(2, device="meta")
    require_one_device("abc", [here, here, here])
    for tensors, words in (
        ([there, here, here], "a is on meta, but must be on cpu"),
        ([here, here, there], "c is on meta, but must be on cpu"),
        ([there, here], "b is on cpu, but must be on meta"),  # as many on either: the first is right
    ):
        with pytest.raises(ArgumentError, match=words):
            require_one_device("abc"[: len(tensors)], tensors)


@pytest.mark.parametrize("shape", [(), (7,), (2, 3)])
def test_other_numbers_of_dimensions_are_refused_for_heads(shape: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"k has shape .*, but must be \[rows, heads, head_dim\]"):
        require_heads("k", torch.zeros(shape), 1, (1, 2, 3))


def test_it_is_an_error_of_the_course_and_of_the_caller() -> None:
    assert issubclass(ArgumentError, CourseError)
    assert issubclass(ArgumentError, ValueError)
