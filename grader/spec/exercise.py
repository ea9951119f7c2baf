"""An exercise and its steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.spec.call import Buffers, Call
from grader.spec.case import Case, Size, named
from grader.spec.comparison import Comparison
from grader.spec.target import BASELINE, Mechanism, Points, Speedup, Target, TimingProtocol, cases_of

if TYPE_CHECKING:
    from grader.spec.question import Question, Sheet
    from grader.spec.random_inputs import Random

# Changes a case's buffers in place, with torch: as the entry should, or as a mistake would.
OnBuffers = Callable[[Size, Buffers], None]
# The same for a mistake. What it reads outside of the buffers is not known: it may return, by output, which
# elements came from there.
KnownMistake = Callable[[Size, Buffers], Buffers | None]


class Task(Protocol):
    """What the correctness stage needs of an exercise or a step: entry point, inputs and reference."""

    @property
    def entry(self) -> str: ...
    @property
    def inputs(self) -> Callable[[Size, Random], Call]: ...
    @property
    def reference(self) -> OnBuffers: ...
    @property
    def compare(self) -> Comparison: ...
    @property
    def cases(self) -> tuple[Case, ...]: ...
    @property
    def hidden(self) -> Callable[[Random], Sequence[Case]]: ...
    @property
    def known_mistakes(self) -> Mapping[str, KnownMistake]: ...


@dataclass(frozen=True)
class Step:
    """A smaller entry point in the same file, which leads to the whole exercise; it must be right and clean.

    A step that is timed, for a target or in the bench, has bench cases and the bytes it moves there.
    """

    name: str
    entry: str
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Sequence[Case]]
    points: float
    known_mistakes: Mapping[str, KnownMistake] = field(default_factory=dict)
    mechanisms: tuple[Mechanism, ...] = ()
    bench: tuple[Case, ...] = ()
    bytes_moved: Callable[[Size], int] | None = None  # read and written, at least
    blocks_share: str = ""  # as in Exercise
    former_names: tuple[str, ...] = ()  # the oldest first: records and notebooks may still have them

    def __post_init__(self) -> None:
        if self.bench and self.bytes_moved is None:
            raise ValueError(f"the step {self.entry} has bench cases and needs bytes_moved too")

    @property
    def seed_name(self) -> str:
        """Its first name: a new name does not change the inputs that follow from a record's seed."""
        return (*self.former_names, self.name)[0]

    def moved(self, case: Case) -> int:
        assert self.bytes_moved is not None  # __post_init__ requires it with bench cases
        return self.bytes_moved(case.size)

    def case(self, name: str) -> Case:
        return named(name, self.cases)

    def bench_case(self, name: str) -> Case:
        return named(name, self.bench)


@dataclass(frozen=True)
class PythonTrack:
    """The exercise as a Python file too: a function with the entry's arguments by name.

    Each At arrives as a torch tensor that starts there (a view of its buffer), each number as an int or a
    float, a HostTable as a list of tuples of these; the stream is torch's current one.
    """

    function: str
    arguments: tuple[str, ...]  # names of the Call's arguments in order, without the stream
    file: str = "kernel.py"


@dataclass(frozen=True)
class Exercise:
    """Everything that the harness must know about an exercise and cannot find out itself."""

    title: str
    entry: str  # the C symbol; it returns a cudaError_t as int
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Sequence[Case]]
    bench: tuple[Case, ...]
    bytes_moved: Callable[[Size], int]  # read and written, at least
    mechanisms: tuple[Mechanism, ...]
    targets: tuple[Target, ...]
    points: Points
    # Common mistakes by name: each function makes the buffers that the mistake would leave.
    known_mistakes: Mapping[str, KnownMistake] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    mechanism_case: str = ""  # of `cases`; the first when empty
    more_mechanism_cases: tuple[str, ...] = ()  # of `cases`, for what that one does not launch
    # The one of `cases` where blocks share data: it is run once more with the check for races between blocks.
    blocks_share: str = ""
    # The baseline's case while others are timed at this bench case; the same case when None.
    baseline_case: Callable[[Case], Case] | None = None
    # Libraries and torch calls to measure beside the kernels: name -> function of (size, buffers on a GPU).
    alternatives: Mapping[str, OnBuffers] = field(default_factory=dict)
    # The same, but only their speed is compared: they do not compute the answer and are not checked. Targets
    # may name them like alternatives.
    yardsticks: Mapping[str, OnBuffers] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    predictions: tuple[Question, ...] = ()  # numbers that its notebook asks students to predict
    sheets: tuple[Sheet, ...] = ()  # for `./course answers`, one for each kind of file
    python: PythonTrack | None = None
    # What its kernels are compiled for, such as "sm_90a", where they need instructions that only this
    # architecture has. None: the device's own.
    arch: str | None = None
    folder: Path = Path()  # filled in by the registry
    solution: Path = Path()

    @property
    def id(self) -> str:
        """The folder's name: "01_kv_store"."""
        return self.folder.name

    @property
    def number(self) -> str:
        return self.id.partition("_")[0]

    @property
    def rubric(self) -> dict[str, float]:
        """The points of each part, by its name in a record, in the order of grading."""
        return {step.name: step.points for step in self.steps} | vars(self.points)

    @property
    def former_parts(self) -> dict[str, str]:
        """Names that parts had before, and the name of each now."""
        return {old: step.name for step in self.steps for old in step.former_names}

    @property
    def max_points(self) -> float:
        return sum(self.rubric.values())

    @property
    def protocol(self) -> TimingProtocol:
        """How its kernels are timed: the protocol of its first Speedup target."""
        return next((target.protocol for target in self.targets if isinstance(target, Speedup)), "cold")

    @property
    def rivals(self) -> Mapping[str, OnBuffers]:
        """Everything but kernels that a target may name."""
        return {**self.alternatives, **self.yardsticks}

    @property
    def baseline(self) -> Path:
        return self.folder / "baseline.cu"

    @property
    def starter(self) -> Path:
        return self.folder / "kernel.cu"

    def case(self, name: str) -> Case:
        return named(name, self.cases)

    def bench_case(self, name: str) -> Case:
        return named(name, self.bench)

    def needs_gpu(self, target: Target) -> bool:
        """Whether the target needs a GPU: it is not about kernels alone, or it is about a case that is too
        large for the virtual GPU."""
        if target.gpu_only or not isinstance(target, Speedup):
            return target.gpu_only
        return any(self.bench_case(name).gpu_only for name in target.cases)

    @property
    def modelled_targets(self) -> list[Speedup]:
        """Those that can be decided without a GPU."""
        return [t for t in self.targets if isinstance(t, Speedup) and not self.needs_gpu(t)]

    @property
    def modelled_cases(self) -> list[Case]:
        """The cases of those targets."""
        names = {name for target in self.modelled_targets for name in target.cases}
        return [case for case in self.bench if case.name in names]

    @property
    def timed_cases(self) -> list[Case]:
        """The bench cases that any target of the exercise's own entry is about, on whatever device."""
        names = {name for target in self.targets for name in cases_of(target)}
        return [case for case in self.bench if case.name in names]

    def step(self, entry: str) -> Step:
        return next(step for step in self.steps if step.entry == entry)

    def moved(self, case: Case) -> int:
        return self.bytes_moved(case.size)

    def elsewhere(self, case: Case) -> dict[str, Case]:
        """Sides of a comparison that use another case while a submission is timed at this one, by name."""
        theirs = case if self.baseline_case is None else self.baseline_case(case)
        return {} if theirs == case else {BASELINE: theirs}

    def case_of_baseline(self, case: Case) -> Case:
        return self.elsewhere(case).get(BASELINE, case)

    def variants(self) -> Iterator[Path]:
        """The solution's variants, by file name. A file without the entry point is not a variant: it does
        something else, like decoding beside attention."""
        defined = re.compile(rf'extern "C"\s+int\s+{re.escape(self.entry)}\s*\(')
        for path in sorted(self.solution.parent.glob("*.cu")):
            if path != self.solution and defined.search(path.read_text()):
                yield path
