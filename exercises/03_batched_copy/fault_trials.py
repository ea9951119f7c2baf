"""Tries the five pieces of faults.py on small inputs: does each do what it says? Why not, you find out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Beside this file, whether it was started by name or belongs to the exercise.
_STREAMS = importlib.import_module(f"{__package__}.lazy_streams" if __package__ else "lazy_streams")
FIELDS = 7


def fields() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Destinations of zeros, and sources of other numbers."""
    sources = [torch.arange(1, 5 + number, dtype=torch.int32) for number in range(FIELDS)]
    return [torch.zeros_like(source) for source in sources], sources


def arrived(destinations: list[torch.Tensor], sources: list[torch.Tensor]) -> bool:
    return all(torch.equal(to, of) for to, of in zip(destinations, sources, strict=True))


class CountCopies(TorchDispatchMode):
    """How many copies torch makes while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.copies = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.copies += "aten::copy_" in str(function._schema.name)
        return function(*args, **(kwargs or {}))


def one_copy_with_cat(piece: Callable[..., Any]) -> bool:
    destinations, sources = fields()
    piece(destinations, sources)
    return arrived(destinations, sources)


def owner_of(piece: Callable[..., Any]) -> bool:
    return [piece(element, [0, 4, 9]) for element in (0, 3, 4, 8, 9, 100)] == [0, 0, 1, 1, 2, 2]


def copy_regions(piece: Callable[..., Any]) -> bool:
    memory = torch.arange(64, dtype=torch.int32)
    wanted = memory.clone()
    wanted[8:12] = memory[0:4]
    piece(memory, [(0, 32, 16)])  # bytes: elements 0 to 3, to elements 8 to 11
    return torch.equal(memory, wanted)


def batched_for_the_benchmark(piece: Callable[..., Any]) -> bool:
    destinations, sources = fields()
    batched = piece(destinations, sources)
    with CountCopies() as counted:
        batched()
    return arrived(destinations, sources) and counted.copies == 1


def copies_on_streams(piece: Callable[..., Any]) -> bool:
    streams = _STREAMS.LazyStreams()
    destinations, sources = fields()
    for source in sources:
        streams.queue(0, lambda source=source: source.add_(100))
    piece(streams, destinations, sources)
    used: list[torch.Tensor] = []
    streams.queue(0, lambda: used.extend(to.clone() for to in destinations))
    waits_before = streams.host_waits
    streams.synchronise(0)
    return arrived(used, sources) and waits_before == 0


TRIALS = (one_copy_with_cat, owner_of, copy_regions, batched_for_the_benchmark, copies_on_streams)


def outcome(trial: Callable[[Callable[..., Any]], bool], pieces: Mapping[str, Any]) -> str:
    """A few words; what a piece raises is one of the things it may do."""
    name = trial.__name__
    if name not in pieces:
        return "is not in this file any more"
    try:
        return "does what it says" if trial(pieces[name]) else "does something else"
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"


def main(pieces: Mapping[str, Any]) -> int:
    told = {trial.__name__: outcome(trial, pieces) for trial in TRIALS}
    for name, words in told.items():
        print(f"{name:26} {words}")
    return 0 if set(told.values()) == {"does what it says"} else 1
