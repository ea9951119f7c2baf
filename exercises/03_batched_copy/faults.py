"""Find the fault: five pieces of code that should make this step faster. Each looks right.

Explain what each really does, show it with a few numbers, and fix it. `./course answers` tries
all of them and reports which are right. It does not explain the faults.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .lazy_streams import LazyStreams

Tensors = Sequence[torch.Tensor]


def one_copy_with_cat(destinations: Tensors, sources: Tensors) -> None:
    """All copies as one: flatten both sides, copy once."""
    torch.cat([to.view(-1) for to in destinations]).copy_(torch.cat([of.view(-1) for of in sources]))


def owner_of(element: int, first_elements: Sequence[int]) -> int:
    """The copy that an element belongs to, if all elements are numbered in order; as inside a kernel."""
    owner = 0
    for i in range(copies):  # type: ignore[name-defined]  # noqa: F821
        if first_elements[i] <= element:
            owner = i
    return owner


def copy_regions(memory: torch.Tensor, regions: Sequence[tuple[int, int, int]]) -> None:
    """Copies regions of one int32 buffer: (source, destination, size), all in bytes."""
    for source, destination, size in regions:
        element = torch.arange(size // 4)
        memory[destination + 4 * element] = memory[source + 4 * element]


def batched_for_the_benchmark(destinations: Tensors, sources: Tensors) -> Callable[[], None]:
    """To be timed against one copy each: everything in a single copy, packed before the clock starts."""
    packed = torch.cat([of.view(-1) for of in sources])
    arrived = torch.empty_like(packed)

    def batched() -> None:
        arrived.copy_(packed)
        for to, values in zip(destinations, arrived.split([to.numel() for to in destinations]), strict=True):
            to.copy_(values.view_as(to))

    return batched


def copies_on_streams(streams: LazyStreams, destinations: Tensors, sources: Tensors) -> None:
    """All copies at once, each on a stream of its own. Called on stream 0, which has produced the sources and
    will use the destinations."""
    for number, (to, of) in enumerate(zip(destinations, sources, strict=True), 1):
        streams.queue(number, functools.partial(to.copy_, of))
    for number in range(1, len(sources) + 1):
        streams.synchronise(number)
