"""Which batches check_copies() refuses, held against marks on every element that a batch touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.build.program import Target
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.tensor import DeviceTensor
from common.worker.calls import DevicePointer, Number, Table, i32, i64
from grader.building.build import build
from grader.spec import registry

EXERCISE = registry.find("03")
ELEMENTS = 240  # of the one buffer that all copies read and write
INVALID_VALUE = 1


@dataclass(frozen=True)
class Place:
    """Where the rows of one side begin, and how far apart they are."""

    start: int
    stride: int

    def marks(self, rows: int, columns: int) -> torch.Tensor:
        """How often each element is touched."""
        index = torch.arange(rows)[:, None] * self.stride + torch.arange(columns) + self.start
        return torch.bincount(index.flatten(), minlength=ELEMENTS)


@dataclass(frozen=True)
class Copy:
    source: Place
    destination: Place
    rows: int
    columns: int

    @property
    def inside(self) -> bool:
        return all(
            side.start + max(self.rows - 1, 0) * side.stride + self.columns <= ELEMENTS
            for side in (self.source, self.destination)
        )


PLACES = st.builds(Place, st.integers(0, ELEMENTS - 1), st.integers(0, 40))
COPIES = st.builds(Copy, PLACES, PLACES, st.integers(0, 5), st.integers(0, 24)).filter(
    lambda copy: copy.inside
)


@pytest.fixture(scope="module")
def device() -> Iterator[tuple[Library, DeviceTensor]]:
    path = build(EXERCISE.baseline, Target.virtual()).library
    assert path is not None
    with VirtualGpu(libraries=[path]) as gpu:
        yield gpu.load(path), gpu.tensor("memory", (ELEMENTS,), "int32", fill=0)


def answer(device: tuple[Library, DeviceTensor], rows: list[list[DevicePointer | Number]]) -> int:
    return device[0].call(EXERCISE.entry, Table(rows), i32(len(rows)), Number("stream", 0)).code


@given(batch=st.lists(COPIES, min_size=1, max_size=3))
@settings(max_examples=150)
def test_a_batch_is_refused_if_and_only_if_an_element_has_no_single_right_value(
    device: tuple[Library, DeviceTensor], batch: list[Copy]
) -> None:
    written = sum(copy.destination.marks(copy.rows, copy.columns) for copy in batch)
    read = sum(copy.source.marks(copy.rows, copy.columns) for copy in batch)
    assert isinstance(written, torch.Tensor)
    clash = bool((written > 1).any()) or bool(((written > 0) & (torch.as_tensor(read) > 0)).any())
    memory = device[1]
    rows: list[list[DevicePointer | Number]] = [
        [
            memory + 4 * copy.source.start,
            memory + 4 * copy.destination.start,
            *map(i64, (copy.rows, copy.columns, copy.source.stride, copy.destination.stride, 4)),
        ]
        for copy in batch
    ]
    assert answer(device, rows) == (INVALID_VALUE if clash else 0)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param((-1, 4, 4, 4, 4), id="rows below zero"),
        pytest.param((2, -4, 4, 4, 4), id="columns below zero"),
        pytest.param((2, 4, -8, 4, 4), id="a source stride below zero"),
        pytest.param((2, 4, 4, 4, 0), id="an element size of 0"),
        pytest.param((2, 4, 4, 4, 16), id="an element size of 16"),
        pytest.param((2, 4, 4, 4, 8), id="a start that is not aligned to the element"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(
    device: tuple[Library, DeviceTensor], sizes: tuple[int, ...]
) -> None:
    memory = device[1]
    assert answer(device, [[memory + 4, memory + 400, *map(i64, sizes)]]) == INVALID_VALUE


def test_nothing_needs_no_memory(device: tuple[Library, DeviceTensor]) -> None:
    nowhere = DevicePointer(0)
    assert answer(device, [[nowhere, nowhere, *map(i64, (0, 4, 4, 4, 4))]]) == 0
    assert answer(device, [[nowhere, nowhere, *map(i64, (1, 4, 4, 4, 4))]]) == INVALID_VALUE
    assert answer(device, []) == 0
