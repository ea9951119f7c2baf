"""Tries the five functions of faults.py on small inputs: does each do what its docstring says?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.spec.question import Function, Question

from .lazy_streams import LazyStreams

if TYPE_CHECKING:
    import torch

FIELDS = 7


def fields() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Destinations of zeros, and sources of other numbers."""
    import torch

    sources = [torch.arange(1, 5 + number, dtype=torch.int32) for number in range(FIELDS)]
    return [torch.zeros_like(source) for source in sources], sources


def arrived(destinations: list[torch.Tensor], sources: list[torch.Tensor]) -> bool:
    return all(to.equal(of) for to, of in zip(destinations, sources, strict=True))


def copies_made(call: Callable[[], object]) -> int:
    """How many copies torch makes in a call."""
    from torch.utils._python_dispatch import TorchDispatchMode

    made: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            made.append(str(function._schema.name))
            return function(*args, **(kwargs or {}))

    with Watch():
        call()
    return sum("aten::copy_" in name for name in made)


def one_copy_with_cat(piece: Callable[..., Any]) -> bool:
    destinations, sources = fields()
    piece(destinations, sources)
    return arrived(destinations, sources)


def owner_of(piece: Callable[..., Any]) -> bool:
    return [piece(element, [0, 4, 9]) for element in (0, 3, 4, 8, 9, 100)] == [0, 0, 1, 1, 2, 2]


def copy_regions(piece: Callable[..., Any]) -> bool:
    import torch

    memory = torch.arange(64, dtype=torch.int32)
    wanted = memory.clone()
    wanted[8:12] = memory[0:4]
    piece(memory, [(0, 32, 16)])  # bytes: elements 0 to 3, to elements 8 to 11
    return torch.equal(memory, wanted)


def batched_for_the_benchmark(piece: Callable[..., Any]) -> bool:
    destinations, sources = fields()
    copies = copies_made(piece(destinations, sources))
    return arrived(destinations, sources) and copies == 1


def copies_on_streams(piece: Callable[..., Any]) -> bool:
    streams = LazyStreams()
    destinations, sources = fields()
    for source in sources:
        streams.queue(0, functools.partial(source.add_, 100))
    piece(streams, destinations, sources)
    used: list[torch.Tensor] = []
    streams.queue(0, lambda: used.extend(to.clone() for to in destinations))
    waits_before = streams.host_waits
    streams.synchronise(0)
    return arrived(used, sources) and waits_before == 0


# A person gives the points, for the explanation of each: solutions/03_batched_copy/mark_scheme.md.
FAULTS = tuple(
    Question(trial.__name__, ask, Function(), trial, points=0)
    for trial, ask in (
        (one_copy_with_cat, "all copies as one"),
        (owner_of, "the copy that an element belongs to"),
        (copy_regions, "copies regions of one buffer"),
        (batched_for_the_benchmark, "one copy, packed before the clock starts"),
        (copies_on_streams, "each copy on a stream of its own"),
    )
)
