"""The words in which an exercise describes itself to the harness: data and small functions, no machinery.

An `exercise.py` makes one `Exercise`. How its inputs look, what is right, what must be seen in the kernel,
how fast is fast and what each is worth stand there; how any of that is found out stands in the stages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch

    from grader.evidence import Evidence
    from grader.predictions import Prediction
    from grader.random_inputs import Random

Protocol_ = Literal["cold", "graph"]


class Size(SimpleNamespace):
    """The sizes of a case as attributes: size.tokens, size.heads."""

    def __getattr__(self, name: str) -> int:  # for type checkers; SimpleNamespace finds what is there
        raise AttributeError(f"this case has no size {name!r}; it has {', '.join(vars(self))}")


@dataclass(frozen=True)
class Case:
    """One set of sizes. The seed is chosen by the harness, anew each time."""

    name: str
    sizes: Mapping[str, int]
    gpu_only: bool = False  # needs more memory than a virtual GPU should be asked for

    @property
    def size(self) -> Size:
        return Size(**self.sizes)


def case(name: str, /, *, gpu_only: bool = False, **sizes: int) -> Case:
    return Case(name, sizes, gpu_only)


@dataclass(frozen=True)
class At:
    """An argument: a pointer into a buffer, `offset` elements from its start."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True)
class Scalar:
    """An argument: a number with the C type it is passed as."""

    type: str
    value: int | float


def i32(value: int) -> Scalar:
    return Scalar("i32", value)


def i64(value: int) -> Scalar:
    return Scalar("i64", value)


def f32(value: float) -> Scalar:
    return Scalar("f32", value)


STREAM = Scalar("stream", 0)


@dataclass(frozen=True)
class HostTable:
    """An argument: a pointer to a table in host memory, every field 8 bytes (a pointer or an i64).

    The table is written anew for each call and belongs to the caller: the entry reads it, and must have
    read it when it returns.
    """

    rows: tuple[tuple[At | Scalar, ...], ...]


Argument = At | Scalar | HostTable


@dataclass(frozen=True)
class Call:
    """One call of the entry point: the device memory it finds, and its arguments in order.

    Every buffer is an allocation of its own. All bytes of the buffers in `outputs` are compared with what
    the reference leaves there, so whatever must stay untouched is checked too; the others must not change.
    Those in `scratch` are room to work in: what they hold means nothing, before and after, the reference
    never sees them, and of their tensors only shape and type count.
    A call that must be refused says with which error in `returns`; then no buffer may change at all.
    """

    buffers: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    arguments: tuple[Argument, ...]
    returns: int = 0  # the cudaError_t that the entry must return
    scratch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if both := set(self.outputs) & set(self.scratch):
            raise ValueError(f"{', '.join(sorted(both))}: a buffer is compared or is scratch, not both")

    @property
    def kept(self) -> dict[str, torch.Tensor]:
        """The buffers that mean something: all but scratch."""
        return {name: tensor for name, tensor in self.buffers.items() if name not in self.scratch}

    @property
    def inputs(self) -> list[str]:
        """The buffers that must hold after the call what they held before it."""
        return [name for name in self.kept if name not in self.outputs]


@dataclass(frozen=True)
class Exact:
    """Every bit as expected: for copies and integers."""


@dataclass(frozen=True)
class Relative:
    """The largest error against a higher-precision reference may be `times` that of the same computation
    done by torch in the output's own precision."""

    times: float = 2.0


@dataclass(frozen=True)
class Normwise:
    """By rows (the last dimension; of an output with one dimension, each element is a row): the norm of the
    error against the reference in float64, over the norm of the exact row.

    In every row at most `at_most`, and `times` the largest that the same reference makes in the buffers' own
    types; but `least` is always allowed, for where rows are few and short that error may be 0 by chance. A
    row of zeros must be zeros. Outputs that are not floating are compared bit by bit.
    """

    times: float = 2.0
    at_most: float = 1e-2
    least: float = 0.0


Comparison = Exact | Relative | Normwise


class Mechanism(Protocol):
    """Something the exercise teaches, looked for in what the virtual GPU and ptxas saw of the kernel."""

    @property
    def name(self) -> str: ...

    def look(self, evidence: Evidence) -> str | None:
        """None when it is there, else a sentence for the student: what was seen and what was wanted."""
        ...


@runtime_checkable
class SeenInEveryCall(Mechanism, Protocol):
    """A mechanism that is looked for in every call of every case, not only where all is counted."""

    def look_anywhere(self, evidence: Evidence) -> str | None:
        """As `look`, at a call that may be one with little to do, or nothing."""
        ...


BASELINE = "baseline"


@dataclass(frozen=True)
class Speedup:
    """A ratio over something else, as a geometric mean over bench cases, none of them under `least_each`.

    With `each`, pass mark and full marks are held against the slowest of the cases instead of their mean.
    """

    cases: tuple[str, ...]
    passing: float
    full: float
    least_each: float = 1.0
    protocol: Protocol_ = "cold"
    share: float = 1.0  # of the points for speed
    # What must hold on the virtual GPU when its modelled ratio is too close to the target to call.
    structure: tuple[Mechanism, ...] = ()
    against: str = BASELINE  # or the name of one of the exercise's alternatives or yardsticks
    each: bool = False

    @property
    def gpu_only(self) -> bool:
        """Only the baseline is a kernel that the virtual GPU can run; alternatives are torch calls."""
        return self.against != BASELINE


@dataclass(frozen=True)
class CopyBandwidth:
    """A fraction of the bandwidth that a plain copy reaches on the same device in the same run.

    With `step`, of that step's entry at one of its own bench cases, timed alone.
    """

    case: str
    fraction: float
    share: float = 1.0
    step: str = ""  # the entry of a step
    gpu_only: bool = True


@dataclass(frozen=True)
class HostTime:
    """The host's time in a call of the entry, in each case at most `at_most` times that of an alternative."""

    against: str
    cases: tuple[str, ...]
    at_most: float = 1.0
    share: float = 1.0
    gpu_only: bool = True


Target = Speedup | CopyBandwidth | HostTime


@dataclass(frozen=True)
class Points:
    """What each part is worth. Clean, mechanism and speed count only for a kernel that is correct."""

    correct: float
    clean: float
    mechanism: float
    speed: float

    @property
    def total(self) -> float:
        return self.correct + self.clean + self.mechanism + self.speed


# Does something to a case's buffers in place, with torch: what the entry should do, or what a mistake would.
OnBuffers = Callable[[Size, "Mapping[str, torch.Tensor]"], None]


class Task(Protocol):
    """An entry point with what is right for it: what the correctness stage needs of an exercise or a step."""

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
    def suspicions(self) -> Mapping[str, OnBuffers]: ...


def _named(name: str, cases: tuple[Case, ...]) -> Case:
    for case in cases:
        if case.name == name:
            return case
    known = ", ".join(repr(case.name) for case in cases) or "none"
    raise LookupError(f"there is no case {name!r}; there are {known}")


@dataclass(frozen=True)
class Step:
    """A smaller entry point in the same file, on the way to the whole: right and clean.

    One that is timed, for a target or in the bench, says at which cases and how many bytes it moves there.
    """

    name: str
    entry: str
    inputs: Callable[[Size, Random], Call]
    reference: OnBuffers
    compare: Comparison
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Sequence[Case]]
    points: float
    suspicions: Mapping[str, OnBuffers] = field(default_factory=dict)
    mechanisms: tuple[Mechanism, ...] = ()
    bench: tuple[Case, ...] = ()
    bytes_moved: Callable[[Size], int] | None = None  # read and written, at least
    blocks_share: str = ""  # as in Exercise

    def __post_init__(self) -> None:
        if self.bench and self.bytes_moved is None:
            raise ValueError(f"the step {self.entry} has bench cases and needs bytes_moved too")

    def moved(self, case: Case) -> int:
        assert self.bytes_moved is not None  # a step without has no cases to ask about
        return self.bytes_moved(case.size)

    def case(self, name: str) -> Case:
        return _named(name, self.cases)

    def bench_case(self, name: str) -> Case:
        return _named(name, self.bench)


@dataclass(frozen=True)
class PythonTrack:
    """The exercise as a Python file too: a function with the entry's arguments by name.

    Each At arrives as a torch tensor that starts there (a view of its buffer), each number as an int or a
    float, a HostTable as a list of tuples of these; the stream is torch's current one.
    """

    function: str
    arguments: tuple[str, ...]  # names for the Call's arguments in order, the stream left out
    file: str = "kernel.py"


@dataclass(frozen=True)
class Exercise:
    """Everything the harness must know about an exercise, and nothing it can know itself."""

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
    # Named guesses at what went wrong: for each, what the buffers would hold if that were the mistake.
    suspicions: Mapping[str, OnBuffers] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    mechanism_case: str = ""  # of `cases`; the first when empty
    # Of `cases`, where blocks leave each other something: run once more, and races between them looked for.
    blocks_share: str = ""
    # On which case the baseline stands while others are timed at this bench case; on the same when None.
    baseline_case: Callable[[Case], Case] | None = None
    # Libraries and torch calls to measure beside the kernels: name -> function of (size, buffers on a GPU).
    alternatives: Mapping[str, OnBuffers] = field(default_factory=dict)
    # The same, but for comparison of speed alone: what they leave in the buffers is not the answer and is
    # not checked. Targets may name them as they name alternatives.
    yardsticks: Mapping[str, OnBuffers] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    predictions: tuple[Prediction, ...] = ()  # numbers that its notebook asks for before they are counted
    python: PythonTrack | None = None
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
        """What each part is worth, by its name in a record and in the order in which parts are graded."""
        return {step.name: step.points for step in self.steps} | vars(self.points)

    @property
    def max_points(self) -> float:
        return sum(self.rubric.values())

    @property
    def protocol(self) -> Protocol_:
        """How its kernels are timed: as the first ratio among its targets says."""
        return next((target.protocol for target in self.targets if isinstance(target, Speedup)), "cold")

    @property
    def rivals(self) -> Mapping[str, OnBuffers]:
        """Everything beside kernels that a target may name."""
        return {**self.alternatives, **self.yardsticks}

    @property
    def baseline(self) -> Path:
        return self.folder / "baseline.cu"

    @property
    def starter(self) -> Path:
        return self.folder / "kernel.cu"

    def case(self, name: str) -> Case:
        return _named(name, self.cases)

    def bench_case(self, name: str) -> Case:
        return _named(name, self.bench)

    def needs_gpu(self, target: Target) -> bool:
        """Whether only a GPU can tell: the target is not about kernels alone, or about one of the cases that
        are too large for the virtual GPU."""
        if target.gpu_only or not isinstance(target, Speedup):
            return target.gpu_only
        return any(self.bench_case(name).gpu_only for name in target.cases)

    def step(self, entry: str) -> Step:
        return next(step for step in self.steps if step.entry == entry)

    def moved(self, case: Case) -> int:
        return self.bytes_moved(case.size)

    def elsewhere(self, case: Case) -> dict[str, Case]:
        """Sides that stand on another case while a submission is timed at this one, by name."""
        theirs = case if self.baseline_case is None else self.baseline_case(case)
        return {} if theirs == case else {BASELINE: theirs}

    def case_of_baseline(self, case: Case) -> Case:
        return self.elsewhere(case).get(BASELINE, case)

    def variants(self) -> Iterator[Path]:
        """The solution's other ways, by file name. A file beside it without the entry point does something
        else, as decoding does beside attention."""
        defined = re.compile(rf'extern "C"\s+int\s+{re.escape(self.entry)}\s*\(')
        for path in sorted(self.solution.parent.glob("*.cu")):
            if path != self.solution and defined.search(path.read_text()):
                yield path
