"""The five faults of exercises/03_batched_copy/faults.py, explained and fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

Tensors = Sequence[torch.Tensor]


def one_copy_with_cat(destinations: Tensors, sources: Tensors) -> None:
    """The fault: torch.cat makes a new tensor, so `.copy_` wrote a temporary and no destination changed.
    Tensors that lie apart have no flat view: torch has a list of copies instead."""
    torch._foreach_copy_(list(destinations), list(sources))


def owner_of(element: int, first_elements: Sequence[int]) -> int:
    """The fault: the function does not get the number of copies, and a kernel's pointer does not have one.
    Pass the count, or give the table a fixed length and fill it up with places that no element reaches."""
    return sum(first <= element for first in first_elements) - 1


def copy_regions(memory: torch.Tensor, regions: Sequence[tuple[int, int, int]]) -> None:
    """The fault: offsets were bytes, but the buffer is indexed in elements, so both ends were four times too
    far and three elements of four were left out. Convert once, at the entry."""
    for region in regions:
        source, destination, size = (number // memory.element_size() for number in region)
        memory[destination : destination + size] = memory[source : source + size].clone()


def batched_for_the_benchmark(destinations: Tensors, sources: Tensors) -> Callable[[], None]:
    """The fault: after the one copy came all the others again, to the destinations, so it could only lose.
    A flat copy is one copy if readers use the flat buffer: the destinations become views of it, before the
    clock starts."""
    packed = torch.cat([of.view(-1) for of in sources])
    arrived = torch.empty_like(packed)
    for to, values in zip(destinations, arrived.split([to.numel() for to in destinations]), strict=True):
        to.set_(values.view_as(to))

    def batched() -> None:
        arrived.copy_(packed)

    return batched


def copies_on_streams(streams, destinations: Tensors, sources: Tensors) -> None:  # type: ignore[no-untyped-def]
    """The faults: no stream waited for stream 0, so copies could run before their sources were there; and the
    host waited for every stream, where the device could. One event forks, one per stream joins."""
    produced = streams.record(0)
    for number, (to, of) in enumerate(zip(destinations, sources, strict=True), 1):
        streams.wait(number, produced)
        streams.queue(number, lambda to=to, of=of: to.copy_(of))
        streams.wait(0, streams.record(number))
