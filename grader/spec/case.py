"""Cases: the sizes at which an entry point is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace


class Size(SimpleNamespace):
    """The sizes of a case as attributes: size.tokens, size.heads."""

    def __getattr__(self, name: str) -> int:  # for type checkers; SimpleNamespace finds what is there
        raise AttributeError(f"this case has no size {name!r}; it has {', '.join(vars(self))}")


@dataclass(frozen=True)
class Case:
    """One set of sizes. The harness chooses a new seed each time."""

    name: str
    sizes: Mapping[str, int]
    gpu_only: bool = False  # needs too much memory for the virtual GPU

    @property
    def size(self) -> Size:
        return Size(**self.sizes)


def case(name: str, /, *, gpu_only: bool = False, **sizes: int) -> Case:
    return Case(name, sizes, gpu_only)


def named(name: str, cases: tuple[Case, ...]) -> Case:
    for case in cases:
        if case.name == name:
            return case
    known = ", ".join(repr(case.name) for case in cases) or "none"
    raise LookupError(f"there is no case {name!r}; the cases are {known}")
