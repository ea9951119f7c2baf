"""The words in which an exercise describes itself to the harness: data and small functions, no machinery.

An `exercise.py` makes one `Exercise`. How its inputs look, what is right, what must be seen in the kernel,
how fast is fast and what each is worth stand there; how any of that is found out stands in the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import torch

    from grader.evidence import Evidence
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
class Call:
    """One call of the entry point: the device memory it finds, and its arguments in order.

    Every buffer is an allocation of its own. All bytes of the buffers in `outputs` are compared with what
    the reference leaves there, so whatever must stay untouched is checked too; the others must not change.
    """

    buffers: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    arguments: tuple[At | Scalar, ...]


@dataclass(frozen=True)
class Exact:
    """Every bit as expected: for copies and integers."""


@dataclass(frozen=True)
class Relative:
    """The largest error against a higher-precision reference may be `times` that of the same computation
    done by torch in the output's own precision."""

    times: float = 2.0


Comparison = Exact | Relative


class Mechanism(Protocol):
    """Something the exercise teaches, looked for in what the virtual GPU and ptxas saw of the kernel."""

    @property
    def name(self) -> str: ...

    def look(self, evidence: Evidence) -> str | None:
        """None when it is there, else a sentence for the student: what was seen and what was wanted."""
        ...


@dataclass(frozen=True)
class Speedup:
    """A ratio over the baseline, as a geometric mean over bench cases, each no slower than `least_each`."""

    cases: tuple[str, ...]
    passing: float
    full: float
    least_each: float = 1.0
    protocol: Protocol_ = "cold"
    share: float = 1.0  # of the points for speed
    # What must hold on the virtual GPU when its modelled ratio is too close to the target to call.
    structure: tuple[Mechanism, ...] = ()


@dataclass(frozen=True)
class CopyBandwidth:
    """A fraction of the bandwidth that a plain copy reaches on the same device in the same run."""

    case: str
    fraction: float
    share: float = 1.0
    gpu_only: bool = True


Target = Speedup | CopyBandwidth


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


@dataclass(frozen=True)
class Exercise:
    """Everything the harness must know about an exercise, and nothing it can know itself."""

    title: str
    entry: str  # the C symbol; it returns a cudaError_t as int
    inputs: Callable[[Size, Random], Call]
    # Does to the buffers what the entry point should do, in place, with torch.
    reference: Callable[[Size, Mapping[str, torch.Tensor]], None]
    compare: Comparison
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Sequence[Case]]
    bench: tuple[Case, ...]
    bytes_moved: Callable[[Size], int]  # read and written, at least
    mechanisms: tuple[Mechanism, ...]
    targets: tuple[Target, ...]
    points: Points
    # Named guesses at what went wrong: for each, what the buffers would hold if that were the mistake.
    suspicions: Mapping[str, Callable[[Size, Mapping[str, torch.Tensor]], None]] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    mechanism_case: str = ""  # of `cases`; the first when empty
    # Libraries and torch calls to measure beside the kernels: name -> function of (size, buffers on a GPU).
    alternatives: Mapping[str, Callable[[Size, Mapping[str, torch.Tensor]], None]] = field(
        default_factory=dict
    )
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
    def baseline(self) -> Path:
        return self.folder / "baseline.cu"

    @property
    def starter(self) -> Path:
        return self.folder / "kernel.cu"

    def bench_case(self, name: str) -> Case:
        return next(case for case in self.bench if case.name == name)

    def variants(self) -> Iterator[Path]:
        """The solution's other ways, by file name."""
        yield from sorted(path for path in self.solution.parent.glob("*.cu") if path != self.solution)
