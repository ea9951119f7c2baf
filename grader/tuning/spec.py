"""How an exercise describes what can be tuned: `tuning.py` in its folder makes a `Tuning`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.spec import Call, Case, Comparison, KnownMistake, OnBuffers, Size

if TYPE_CHECKING:
    from grader.spec.random_inputs import Random

Config = Mapping[str, int]  # the value of each tunable, by the macro's name


@dataclass(frozen=True)
class Limits:
    """Limits of a configuration besides the device's; None where only the device's count."""

    registers: int | None = None  # per thread
    shared_bytes: int | None = None  # per block
    spills: bool = True  # whether they are allowed
    occupancy: float | None = None  # at least, as a fraction of the warps that a multiprocessor can hold


@dataclass(frozen=True)
class Tuning:
    """A kernel whose tunables are macros with defaults, and the cases at which it is timed.

    It is a Task, too, with a reference, so that no wrong answer wins.
    """

    entry: str
    tunables: Mapping[str, tuple[int, ...]]  # macro -> the values to try
    defaults: Config  # the source's values without macros: the first to beat
    indivisible: Callable[[Config], str | None]  # a sentence if tiles and warps do not divide
    threads: Callable[[Config], int]  # of a block
    blocks_per_sm: Callable[[Config], int]  # that must fit by the kernel's launch bounds
    shared_bytes: Callable[[Config, Size], int]  # of a block
    kernel: Callable[[Size], str]  # the start of the C++ name of the kernel that such a case runs
    gated: Limits  # the limits of the gated search
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case, ...]
    worth: tuple[Config, ...] = ()  # known to be good at some size: tried right after the defaults
    known_mistakes: Mapping[str, KnownMistake] = field(default_factory=dict)
    arch: str | None = None  # as in Exercise

    @property
    def hidden(self) -> Callable[[Random], Sequence[Case]]:
        """None: tuning does not grade."""
        return lambda _: ()
