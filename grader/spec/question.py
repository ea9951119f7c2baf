"""Questions to students, the forms of their answers, and the sources of the right answers.

The truth of a question, its right answer, is one of four:
  Counted      a quantity of a kernel, which the virtual GPU counts or a GPU times
  a function   of a measurement (measurement.json) and of the student's own answers: the number, or `Accepted`
  a function   of the student's function, for a `Function`: whether it does what it says
  None         `Accepted` by the key beside the solutions, which no student sees
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Side = Literal["baseline", "solution", "yours"]
SIDES: tuple[Side, ...] = ("baseline", "solution", "yours")
MEASURED_SPEEDUP = "measured_speedup"  # the quantity that needs a GPU's clock


@dataclass(frozen=True)
class Factor:
    """A number. The error of an answer is a factor; too high and too low count alike.

    A factor up to `full` gets full credit, from `none` on no credit; between them credit falls with the
    logarithm. 1 and 1 ask for the exact number.
    """

    full: float = 1.05
    none: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.full <= self.none:
            raise ValueError(f"1 <= full <= none, not {self.full} and {self.none}")


@dataclass(frozen=True)
class Within:
    """A number. Credit by relative error: ((0.1, 1.0), (0.3, 0.5)) is all within 10 %, half within 30 %."""

    steps: tuple[tuple[float, float], ...]
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """One of these words, however its parts are joined: "bank-conflicts" or "Bank conflicts"."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """The number of a line of a file."""

    file: str
    last: int


@dataclass(frozen=True)
class Function:
    """A Python function with the question's name, which its truth tests."""


@dataclass(frozen=True)
class Prose:
    """Text for a person to read; it is not graded."""


Answer = Factor | Within | Choice | Line | Function | Prose


@dataclass(frozen=True)
class Counted:
    """A quantity (grader/questions/quantities.py) of a kernel at a bench case."""

    quantity: str
    case: str
    side: Side = "yours"

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise ValueError(f"side is one of {', '.join(SIDES)}, not {self.side!r}")
        if self.needs_gpu and self.side != "yours":
            raise ValueError(f"a GPU times the submission, not {self.side}")

    @property
    def needs_gpu(self) -> bool:
        return self.quantity == MEASURED_SPEEDUP


@dataclass(frozen=True)
class Accepted:
    """The answers that earn credit, with the credit of each, 0 to 1."""

    credits: Mapping[str | int, float]
    why: str = ""  # replaces the question's


@dataclass(frozen=True)
class Question:
    name: str  # a dot separates the TOML table from the name in it: "one.fault"
    ask: str  # what is asked, with its unit
    answer: Answer
    truth: Counted | Callable[..., Any] | None = None
    points: float = 1.0
    why: str = ""  # a sentence on where the right answer comes from, shown after an answer

    @property
    def needs_gpu(self) -> bool:
        return isinstance(self.truth, Counted) and self.truth.needs_gpu


@dataclass(frozen=True)
class Sheet:
    """Questions that are answered in a file: TOML with their names, or Python with a function for each."""

    file: str  # the exercise's file, which students copy and fill in
    questions: tuple[Question, ...] = field(repr=False)
    measured_by: str = ""  # the program that writes measurement.json, if truths need one
