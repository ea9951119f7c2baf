"""Cases: the sizes at which an entry point is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    shape: str = ""  # the sizes in words, for a student whose kernel fails there

    @property
    def size(self) -> Size:
        return Size(**self.sizes)


# For each size a phrase: with a place for the number, or one for each number that has a meaning.
Words = Mapping[str, str | Mapping[int, str]]


def case(name: str, /, *, gpu_only: bool = False, words: Words | None = None, **sizes: int) -> Case:
    """`words` has a phrase for each size that a student should read, in order; without it they read all
    sizes by their names."""
    if words is None:
        words = {size: f"{size}: {{:,}}" for size in sizes}
    return Case(name, sizes, gpu_only, in_words(words, sizes))


def cases_with(words: Words, /, **usual: int) -> Callable[..., Case]:
    """A function like `case`, which takes those sizes alone that are not as `usual`."""

    def make(name: str, /, *, gpu_only: bool = False, **sizes: int) -> Case:
        if unknown := sorted(sizes.keys() - usual.keys()):
            raise TypeError(
                f"case {name!r}: there is no size {unknown[0]!r}; the sizes are {', '.join(usual)}"
            )
        return case(name, gpu_only=gpu_only, words=words, **{**usual, **sizes})

    return make


def in_words(words: Words, sizes: Mapping[str, int]) -> str:
    """The phrases of these sizes. "rows: {}" is said of every number, other phrases not of 0."""
    said = []
    for name, phrase in words.items():
        value = sizes.get(name, 0)
        if isinstance(phrase, str):
            said.append(phrase.format(value) if value or ": {" in phrase else "")
        else:
            said.append(phrase.get(value, ""))
    return ", ".join(filter(None, said))


def named(name: str, cases: tuple[Case, ...]) -> Case:
    for case in cases:
        if case.name == name:
            return case
    known = ", ".join(repr(case.name) for case in cases) or "none"
    raise LookupError(f"there is no case {name!r}; the cases are {known}")
