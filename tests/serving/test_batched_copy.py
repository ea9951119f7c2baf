"""The wrapper of exercise 03's kernel on the virtual GPU: what it copies, and what it refuses to."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.batched_copy import EXERCISE, MOST_COPIES, VARIABLE, Copy, batched_copy
from common.serving.device import VirtualDevice
from common.serving.kernels import chosen_kernel

KERNELS = [chosen_kernel(EXERCISE, VARIABLE)]


def table(device: VirtualDevice, rows: int, columns: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    values = torch.arange(rows * columns, dtype=torch.int64).reshape(rows, columns) + 1
    return device.put("table", values.to(dtype))


def zeros(device: VirtualDevice, rows: int, columns: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return device.full("zeros", (rows, columns), dtype, 0)


def test_slices_of_every_element_size_arrive_and_the_rest_stays(device: VirtualDevice) -> None:
    copies, kept = [], []
    for dtype in (torch.uint8, torch.float16, torch.int32, torch.float64):
        source, destination = table(device, 5, 40, dtype), zeros(device, 9, 64, dtype)
        copies.append(Copy(str(dtype), source[1:4, 3:20], destination[2:5, 7:24]))
        wanted = torch.zeros_like(destination)
        wanted[2:5, 7:24] = source[1:4, 3:20]
        kept.append((destination, wanted))
    batched_copy(copies)
    for destination, wanted in kept:
        assert torch.equal(destination, wanted)


def test_more_copies_than_a_launch_takes_are_split(device: VirtualDevice) -> None:
    device.gpu.reset()
    sources = table(device, 2 * MOST_COPIES + 3, 5)
    destinations = zeros(device, *sources.shape)
    batched_copy([Copy(f"row {i}", sources[i], destinations[i]) for i in range(len(sources))])
    assert torch.equal(sources, destinations)
    assert len(device.gpu.launches) == 3


def test_nothing_to_copy_is_no_launch(device: VirtualDevice) -> None:
    device.gpu.reset()
    source, destination = table(device, 4, 4), zeros(device, 4, 4)
    batched_copy([])
    batched_copy(
        [Copy("no rows", source[:0], destination[:0]), Copy("empty", source[0, :0], destination[0, :0])]
    )
    assert device.gpu.launches == ()


def test_tensors_without_elements_may_stand_beside_others(device: VirtualDevice) -> None:
    source, destination = table(device, 4, 4), zeros(device, 4, 4)
    nothing = device.put("nothing", torch.zeros(4, 0, dtype=torch.int32))
    batched_copy([Copy("nothing", nothing, destination[:, 4:]), Copy("table", source, destination)])
    assert torch.equal(source, destination)


@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_tensor_of_another_virtual_gpu_is_the_one_that_is_named(device: VirtualDevice, side: str) -> None:
    source, destination = table(device, 4, 4), zeros(device, 8, 4)
    pair = {"source": source, "destination": destination[:4]}
    with VirtualDevice([chosen_kernel(EXERCISE, VARIABLE)]) as other:
        wrong = Copy("wrong", **{**pair, side: other.put(side, pair[side])})
        name = "source of wrong" if side == "source" else "wrong"
        with pytest.raises(ArgumentError, match=f"^{name} is in the memory of another virtual GPU"):
            batched_copy([wrong, Copy("right", source, destination[4:])])
    assert not destination.any()


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        (None, "copies is None, but must be of type Sequence: pass a list of Copy"),
        ([("name", 1, 2)], r"copies\[0\] is of type tuple, but must be of type Copy"),
        ([Copy("ids", torch.zeros(1), [1])], "ids is of type list, but must be of type Tensor"),
        ([Copy("ids", None, torch.zeros(1))], "source of ids is None, but must be of type Tensor"),
        ([Copy("ids", torch.tensor(1), torch.tensor(1))], "ids has 0 dimensions, but must have one or two"),
        (
            [
                Copy("ids", torch.zeros(1), torch.zeros(1)),
                Copy("b", torch.zeros(1), torch.zeros(1).to("meta")),
            ],
            "b is on meta, but must be on cpu",
        ),
    ],
)
def test_what_is_no_copy_is_refused(copies: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        batched_copy(copies)


def test_one_row_may_go_to_many(device: VirtualDevice) -> None:
    source, destination = table(device, 1, 8), zeros(device, 6, 8)
    batched_copy([Copy("the same row six times", source.expand(6, 8), destination)])
    assert torch.equal(destination, source.expand(6, 8))


def test_neighbouring_slices_of_one_table_do_not_overlap(device: VirtualDevice) -> None:
    source, destination = table(device, 4, 12), zeros(device, 4, 12)
    batched_copy([Copy(f"columns {c}", source[:, c : c + 4], destination[:, c : c + 4]) for c in (0, 4, 8)])
    assert torch.equal(source, destination)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("shape", r"wrong has shape \[3, 4\], but its source \[4, 3\]"),
        ("dtype", r"source of wrong is torch.int64, but must be torch.int32"),
        ("element size", r"elements of 16 bytes"),
        ("dimensions", r"wrong has 3 dimensions, but must have one or two"),
        ("transposed", r"stride 8 within a row"),
        ("two destinations", r"second \(bytes .*\) overlaps first"),
        ("in place", r"wrong \(bytes .*\) overlaps source of wrong"),
        ("rows over rows", r"rows that are written must not share bytes"),
        ("host memory", r"wrong is on cpu, in memory that no kernel can reach"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_names_and_numbers(
    device: VirtualDevice, case: str, words: str
) -> None:
    source, destination = table(device, 8, 8), zeros(device, 8, 8)
    wide = torch.zeros(2, 2, dtype=torch.complex128)
    wrong = {
        "shape": [Copy("wrong", source[:4, :3], destination[:3, :4])],
        "dtype": [Copy("wrong", table(device, 8, 8, torch.int64), destination)],
        "element size": [Copy("wrong", wide, wide.clone())],
        "dimensions": [Copy("wrong", source.view(2, 4, 8), destination.view(2, 4, 8))],
        "transposed": [Copy("wrong", source.T, destination)],
        "two destinations": [
            Copy("first", source[:4], destination[:4]),
            Copy("second", source[4:], destination[3:7]),
        ],
        "in place": [Copy("wrong", destination[:4], destination[2:6])],
        "rows over rows": [Copy("wrong", source[:4], destination[:1].expand(4, 8))],
        "host memory": [Copy("wrong", torch.zeros(4), torch.zeros(4))],
    }[case]
    with pytest.raises(ArgumentError, match=words):
        batched_copy(wrong)
    assert not destination.any()
