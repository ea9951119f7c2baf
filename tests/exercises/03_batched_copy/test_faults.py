"""The "find the fault" questions of exercise 03: each fault shows, and its mended version has none."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader import registry

EXERCISE = registry.find("03")
FAULTY = importlib.import_module("exercise_03_batched_copy.faults")
LazyStreams = importlib.import_module("exercise_03_batched_copy.lazy_streams").LazyStreams
NAMES = ("one_copy_with_cat", "owner_of", "copy_regions", "batched_for_the_benchmark", "copies_on_streams")


def mended() -> ModuleType:
    path = EXERCISE.solution.with_name("faults.py")
    spec = importlib.util.spec_from_file_location("mended_faults", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MENDED = mended()


def fields() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Seven destinations of zeros and seven sources of other numbers."""
    sources = [torch.arange(1, 5 + number, dtype=torch.int32) for number in range(7)]
    return [torch.zeros_like(source) for source in sources], sources


def arrived(destinations: list[torch.Tensor], sources: list[torch.Tensor]) -> bool:
    return all(torch.equal(to, of) for to, of in zip(destinations, sources, strict=True))


@pytest.mark.parametrize("module", [FAULTY, MENDED], ids=["faulty", "mended"])
def test_there_are_five_and_each_is_mended(module: ModuleType) -> None:
    assert all(callable(getattr(module, name)) for name in NAMES)


def test_a_copy_into_a_cat_changes_no_destination() -> None:
    destinations, sources = fields()
    FAULTY.one_copy_with_cat(destinations, sources)
    assert not any(bool(to.any()) for to in destinations)
    MENDED.one_copy_with_cat(destinations, sources)
    assert arrived(destinations, sources)


def test_a_count_that_nobody_passed_is_not_there() -> None:
    with pytest.raises(NameError, match="copies"):
        FAULTY.owner_of(5, [0, 4, 9])
    assert [MENDED.owner_of(element, [0, 4, 9]) for element in (0, 3, 4, 8, 9, 100)] == [0, 0, 1, 1, 2, 2]


def test_byte_offsets_miss_elements_and_hit_others() -> None:
    memory = torch.arange(64, dtype=torch.int32)
    regions = [(0, 32, 16)]  # elements 0 to 3, to elements 8 to 11
    faulty, right = memory.clone(), memory.clone()
    FAULTY.copy_regions(faulty, regions)
    MENDED.copy_regions(right, regions)
    assert right[8:12].tolist() == [0, 1, 2, 3]
    assert int((right != memory).sum()) == 4
    assert faulty[8:12].tolist() == [8, 9, 10, 11]  # never written
    assert faulty[32:48:4].tolist() == [0, 4, 8, 12]  # somebody else's


class CountCopies(TorchDispatchMode):
    """How many copies torch makes while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.copies = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.copies += "aten::copy_" in str(function._schema.name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(("module", "copies"), [(FAULTY, 8), (MENDED, 1)], ids=["faulty", "mended"])
def test_the_benchmark_of_one_copy_adds_the_seven_back(module: ModuleType, copies: int) -> None:
    destinations, sources = fields()
    batched = module.batched_for_the_benchmark(destinations, sources)
    with CountCopies() as counted:
        batched()
    assert arrived(destinations, sources)
    assert counted.copies == copies


@pytest.mark.parametrize(("module", "fresh"), [(FAULTY, False), (MENDED, True)], ids=["faulty", "mended"])
def test_copies_on_streams_that_wait_for_nobody_copy_what_was_there_before(
    module: ModuleType, fresh: bool
) -> None:
    streams = LazyStreams()
    destinations, sources = fields()
    stale = [source.clone() for source in sources]
    for source in sources:
        streams.queue(0, lambda source=source: source.add_(100))
    module.copies_on_streams(streams, destinations, sources)
    used: list[torch.Tensor] = []
    streams.queue(0, lambda: used.extend(to.clone() for to in destinations))
    streams.synchronise(0)
    assert arrived(used, sources if fresh else stale)
    assert streams.host_waits == (1 if fresh else 8)
