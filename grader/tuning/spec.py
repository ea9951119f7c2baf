"""The words in which an exercise describes what can be tuned: `tuning.py` in its folder makes a `Tuning`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.spec import Call, Case, Comparison, OnBuffers, Size

if TYPE_CHECKING:
    from grader.spec.random_inputs import Random

Config = Mapping[str, int]  # the value of each tunable, by the macro's name


@dataclass(frozen=True)
class Limits:
    """What a configuration may take beside what the device allows; None where that alone counts."""

    registers: int | None = None  # a thread
    shared_bytes: int | None = None  # a block
    spills: bool = True  # whether they are allowed
    occupancy: float | None = None  # at least, as a fraction of the warps that a multiprocessor can hold


@dataclass(frozen=True)
class Tuning:
    """A kernel whose tunables are macros with defaults, and the cases at which it is timed.

    It is a Task as well: an entry point with what is right for it, so that no wrong answer wins.
    """

    entry: str
    tunables: Mapping[str, tuple[int, ...]]  # macro -> the values worth a try
    defaults: Config  # what the source has without any macro: the first to beat
    indivisible: Callable[[Config], str | None]  # why tiles and warps do not divide, if they do not
    threads: Callable[[Config], int]  # of a block
    blocks_per_sm: Callable[[Config], int]  # that the kernel's launch bounds promise to fit
    shared_bytes: Callable[[Config, Size], int]  # of a block
    kernel: Callable[[Size], str]  # how the name begins of the kernel that such a case runs, as C++ writes it
    gated: Limits  # those of the search that is not free
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case, ...]
    worth: tuple[Config, ...] = ()  # known to be good at some size: tried right after the defaults
    known_mistakes: Mapping[str, OnBuffers] = field(default_factory=dict)

    @property
    def hidden(self) -> Callable[[Random], Sequence[Case]]:
        """None: nobody is graded here."""
        return lambda _: ()
