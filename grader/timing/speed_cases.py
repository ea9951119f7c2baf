"""What must be timed on a GPU to decide an exercise's targets, and the results as a record's cases."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grader.records.record import SpeedCase
from grader.spec import BASELINE, Case, CopyBandwidth, Exercise, Speedup, Step, TimingProtocol
from grader.timing.measured.plausibility import Samples
from grader.timing.statistics import ratio_interval

SUBMISSION = "submission"
COPY = "a plain copy"  # what a step's times are compared with


@dataclass
class Point:
    """A case timed in one way, with all sides that targets compare there; a step's has no baseline."""

    protocol: TimingProtocol
    case: Case
    step: Step | None = None
    samples: dict[str, Samples] = field(default_factory=dict)
    failed: str = ""  # why a step has no times; the rest is timed without it

    def __post_init__(self) -> None:
        for side in (SUBMISSION,) if self.step is not None else (SUBMISSION, BASELINE):
            self.samples.setdefault(side, Samples())

    @property
    def mine(self) -> Samples:
        return self.samples[SUBMISSION]

    @property
    def name(self) -> str:
        return self.case.name if self.step is None else f"{self.step.name}: {self.case.name}"


def points_of(exercise: Exercise) -> list[Point]:
    """The points of the bench cases in order, then those of steps."""
    wanted: list[tuple[TimingProtocol, str, str]] = []
    of_steps = []
    for target in exercise.targets:
        if isinstance(target, Speedup):
            wanted += [(target.protocol, name, target.against) for name in target.cases]
        elif isinstance(target, CopyBandwidth) and target.step:
            step = exercise.step(target.step)
            of_steps.append(Point("cold", step.bench_case(target.case), step))
        elif isinstance(target, CopyBandwidth):
            wanted.append(("cold", target.case, BASELINE))
    points: dict[tuple[str, str], Point] = {}
    for protocol, name, against in wanted:
        point = points.setdefault((protocol, name), Point(protocol, exercise.bench_case(name)))
        point.samples.setdefault(against, Samples())
    order = [case.name for case in exercise.bench]
    return sorted(points.values(), key=lambda point: order.index(point.case.name)) + of_steps


def cases_of(exercise: Exercise, point: Point, copy_bandwidth: float) -> list[SpeedCase]:
    """One per side that the submission was timed against."""
    mine = point.mine.per_call
    if point.step is not None:
        moved = point.step.moved(point.case)
        copied = [moved / copy_bandwidth] * len(mine)
        times = {COPY: copied} if mine else {}
    else:
        moved = exercise.moved(point.case)
        times = {
            side: samples.per_call
            for side, samples in point.samples.items()
            if side != SUBMISSION and samples.events
        }
    return [
        speed_case(point.name, point.case, moved, point.protocol, against, base, mine, point.mine.clocks)
        for against, base in times.items()
    ]


def speed_case(
    name: str,
    case: Case,
    moved: int,
    protocol: str,
    against: str,
    base: list[float],
    mine: list[float],
    note: str = "",
) -> SpeedCase:
    """Interleaved seconds per call of the other side, and of the submission."""
    ratio = ratio_interval(base, mine)
    return SpeedCase(
        name=name,
        sizes=dict(case.sizes),
        baseline_seconds=float(np.median(base)),
        seconds=float(np.median(mine)),
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        bytes=moved,
        note=note,
        baseline_samples=list(base),
        samples=list(mine),
        against=against,
        protocol=protocol,
    )
