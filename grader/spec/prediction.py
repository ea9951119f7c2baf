"""Predictions: numbers a student commits to before the machine counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["baseline", "solution", "yours"]
SIDES: tuple[Side, ...] = ("baseline", "solution", "yours")
MEASURED_SPEEDUP = "measured_speedup"  # the quantity that only a GPU's clock can tell


@dataclass(frozen=True)
class Prediction:
    """One number to predict: a quantity (grader/questions/quantities.py) of a kernel at a bench case.

    An answer is off by a factor, too high or too low alike. Up to `full` it has full credit, from `none` on
    it has none, and between the two the credit falls with the logarithm. 1 and 1 ask for the exact number.
    """

    name: str
    ask: str  # the question, with its unit
    quantity: str
    case: str  # a bench case
    side: Side = "yours"
    full: float = 1.05
    none: float = 2.0
    points: float = 1.0
    why: str = ""  # where the number comes from, in a sentence

    def __post_init__(self) -> None:
        if not 1 <= self.full <= self.none:
            raise ValueError(f"prediction {self.name}: 1 <= full <= none, not {self.full} and {self.none}")
        if self.side not in SIDES:
            raise ValueError(f"prediction {self.name}: side is one of {', '.join(SIDES)}, not {self.side!r}")
        if self.needs_gpu and self.side != "yours":
            raise ValueError(f"prediction {self.name}: a GPU times the submission, not {self.side}")

    @property
    def needs_gpu(self) -> bool:
        return self.quantity == MEASURED_SPEEDUP
