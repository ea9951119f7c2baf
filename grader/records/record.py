"""The record of one grading: plain, versioned data that can be shown, compared and repeated."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_whole
from grader.records.device_info import DeviceInfo
from grader.words import numbers

VERSION = 1
NOT_AS_ASKED = "right, but not as asked: "  # a step's reason; what a mechanism lacks follows


@dataclass
class CaseResult:
    """One case. `reason` is a word ("mismatch", "crash", "timeout", "error", …), empty when it passed."""

    name: str
    public: bool
    sizes: dict[str, int]
    passed: bool
    reason: str = ""
    message: str = ""  # for the student: what, where, what was expected
    seconds: float = 0.0
    step: str = ""  # of which step; empty for the exercise itself
    shape: str = ""  # its sizes in words

    @property
    def label(self) -> str:
        return f"{self.step}: {self.name}" if self.step else self.name

    @property
    def sizes_in_words(self) -> str:
        """Its shape, or the names of its sizes where a record has no words for it."""
        return self.shape or numbers.sizes(self.sizes)

    @property
    def as_first_failure(self) -> str:
        """How the reason of a part begins that lost points in this case first; the message follows."""
        return f"first failure, {self.name} ({self.sizes_in_words})"


@dataclass
class MechanismResult:
    name: str
    passed: bool
    message: str = ""


@dataclass
class SpeedCase:
    """One bench case. Seconds are medians; on the virtual GPU they are modelled.

    `baseline_seconds` and `baseline_samples` are the times of what it is compared `against`; `protocol` is
    how both were timed: "cold", "graph" or "host".
    """

    name: str
    sizes: dict[str, int]
    baseline_seconds: float
    seconds: float
    ratio: float
    low: float  # 95 % interval of the ratio; on the virtual GPU, the model's margin
    high: float
    bytes: int = 0
    note: str = ""  # the limiting term, or what was discarded
    baseline_samples: list[float] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)
    against: str = "baseline"
    protocol: str = "cold"
    baseline_measured_on: str = ""  # the card, where only the submission's time is modelled

    @property
    def label(self) -> str:
        """The name, and what it is compared against if that is not the baseline."""
        rival = "" if self.against == "baseline" else f" against {self.against}"
        return f"{self.name}{rival}{', host' if self.protocol == 'host' else ''}"

    @property
    def bandwidth(self) -> float:
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass
class TargetResult:
    """`decision`: "met", "missed" or "undecided"; `earned` is the part of the target's points, 0 to 1."""

    name: str
    decision: str
    earned: float
    share: float
    value: float
    low: float
    high: float
    passing: float
    full: float
    message: str = ""


@dataclass
class Speed:
    modelled: bool
    cases: list[SpeedCase] = field(default_factory=list)
    targets: list[TargetResult] = field(default_factory=list)
    copy_bandwidth: float = 0.0  # bytes per second, read and written
    notes: list[str] = field(default_factory=list)  # clocks, throttling, how long it took
    wrong: dict[str, str] = field(default_factory=dict)  # cases that were wrong while timed, and how

    @property
    def over_baseline(self) -> list[SpeedCase]:
        return [case for case in self.cases if case.against == "baseline"]


@dataclass
class PartResult:
    """Points of one part: a step by its name, correct, clean, mechanism or speed."""

    name: str
    points: float
    max_points: float
    message: str = ""


@dataclass
class Record:
    """Everything about one graded submission."""

    submission: str
    exercise: str
    device: DeviceInfo
    verdict: str = ""  # a few words: "full marks", "wrong answer", "does not compile", …
    points: float = 0.0
    max_points: float = 0.0
    parts: list[PartResult] = field(default_factory=list)
    diagnostics: list[dict[str, Any]] = field(default_factory=list)  # of the compiler
    cases: list[CaseResult] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # cases that only a GPU can run, where there was none
    mechanisms: list[MechanismResult] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)  # of the virtual GPU, as in its reports
    lines: list[dict[str, Any]] = field(default_factory=list)  # counters by source line
    launches: list[dict[str, Any]] = field(default_factory=list)  # kernel, grid, block, counters, occupancy
    # Timed sizes that the virtual GPU cannot run whole: each launch there, and how many of its blocks ran; or
    # why there is nothing.
    large_sizes: list[dict[str, Any]] = field(default_factory=list)
    launch_shapes: list[dict[str, Any]] = field(default_factory=list)  # there, and where calls ran whole
    sampled_only: list[str] = field(default_factory=list)  # kernels that were launched there alone
    speed: Speed | None = None
    # True values for a notebook's predictions, by name, and why some are missing.
    measured: dict[str, float] = field(default_factory=dict)
    unmeasured: dict[str, str] = field(default_factory=dict)
    output: str = ""  # what the submission printed: text for the student; nothing reads it
    flags: list[str] = field(default_factory=list)  # for a person to look at; they cost no points
    source: str = ""
    file: str = "kernel.cu"  # the name of the source's file
    source_sha256: str = ""
    seed: str = ""  # all cases and inputs follow from it
    started: str = ""
    seconds: float = 0.0
    version: int = VERSION
    result: dict[str, Any] = field(default_factory=dict)  # of a measurement; a grading has none

    @property
    def deciding_cases(self) -> list[CaseResult]:
        """The exercise's own cases, or those of steps where there are no others."""
        return [case for case in self.cases if not case.step] or self.cases

    @property
    def is_correct(self) -> bool:
        return bool(self.cases) and all(case.passed for case in self.deciding_cases)

    def to_dict(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        if not self.result:
            del plain["result"]
        return plain

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Record:
        if data.get("version") != VERSION:
            raise ValueError(f"its version is {data.get('version')}, and this course reads version {VERSION}")
        plain = dict(data)
        speed = plain.get("speed")
        plain.update(
            device=DeviceInfo(**plain["device"]),
            parts=[PartResult(**item) for item in plain["parts"]],
            cases=[CaseResult(**item) for item in plain["cases"]],
            mechanisms=[MechanismResult(**item) for item in plain["mechanisms"]],
            speed=None
            if speed is None
            else Speed(
                **{
                    **speed,
                    "cases": [SpeedCase(**item) for item in speed["cases"]],
                    "targets": [TargetResult(**item) for item in speed["targets"]],
                }
            ),
        )
        return Record(**plain)

    def write(self, path: Path) -> None:
        """One line per field and per row of its lists. A class has thousands of records with thousands of
        counters each: `asdict` and json's indentation would be most of the time of writing its points."""
        fields = {name: value for name, value in vars(self).items() if value or name != "result"}
        lines = (f"{json.dumps(name)}: {_in_rows(value)}" for name, value in fields.items())
        write_whole(path, "{\n " + ",\n ".join(lines) + "\n}\n", private=True)

    @staticmethod
    def read(path: Path) -> Record:
        try:
            return Record.from_dict(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise CourseError(f"{path} is not a grading record: {problem}") from problem


def _in_rows(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value, default=vars)
    return "[\n  " + ",\n  ".join(json.dumps(item, default=vars) for item in value) + "\n ]"
