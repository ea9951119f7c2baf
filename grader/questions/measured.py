"""The truths of predictions: counters of kernels on the virtual GPU, and speedups measured on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common.core.errors import CourseError
from common.core.progress import Notify
from grader.actions.profile import Profile, profile
from grader.questions.quantities import QUANTITIES
from grader.records.record import Speed
from grader.spec import Case, Exercise
from grader.spec.question import Counted, Side


@dataclass
class Measured:
    """Values by question, and for a missing value a sentence with the reason."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def __or__(self, other: Measured) -> Measured:
        return Measured(self.values | other.values, self.missing | other.missing)


_ABSENT = {
    "baseline": "the baseline is missing",
    "solution": "it is compared with the reference solution, when it is graded",
    "yours": "there is no kernel.cu of yours to count",
}


def measure(
    exercise: Exercise,
    yours: Path | None,
    *,
    names: Collection[str] | None = None,
    notify: Notify = lambda text: None,
    profiled: Callable[[Exercise, Path, Case], Profile] = profile,
) -> Measured:
    """The values of all the exercise's predictions on the virtual GPU, or of those in `names`; each kernel
    runs once per case."""
    files: dict[Side, Path | None] = {
        "baseline": exercise.baseline,
        "solution": exercise.solution,
        "yours": yours,
    }
    runs = _Runs(exercise, files, notify, profiled)
    found = Measured()
    for one in exercise.predictions:
        if one.needs_gpu or (names is not None and one.name not in names):
            continue
        assert isinstance(one.truth, Counted)
        try:
            found.values[one.name] = _value(exercise, one.truth, runs)
        except CourseError as problem:
            found.missing[one.name] = str(problem)
    return found


def timed(exercise: Exercise, speed: Speed | None) -> Measured:
    """The values that need a GPU's clock, from the times of the kernel's grading."""
    taken = {} if speed is None or speed.modelled else {case.name: case.ratio for case in speed.over_baseline}
    asked = {
        one.name: one.truth.case
        for one in exercise.predictions
        if isinstance(one.truth, Counted) and one.needs_gpu
    }
    return Measured(
        {name: taken[case] for name, case in asked.items() if case in taken},
        {name: f"your kernel was not timed at {case}" for name, case in asked.items() if case not in taken},
    )


def _value(exercise: Exercise, one: Counted, runs: _Runs) -> float:
    quantity = QUANTITIES[one.quantity]
    assert quantity.read is not None  # quantities of a GPU's clock are not measured here
    case = exercise.bench_case(one.case)
    theirs = exercise.case_of_baseline(case)
    value = quantity.read(runs.of(one.side, theirs if one.side == "baseline" else case))
    if not quantity.over_baseline:
        return value
    if value <= 0:
        raise CourseError("nothing was launched, so there is no time to compare")
    return quantity.read(runs.of("baseline", theirs)) / value


class _Runs:
    """Profiles by kernel and case, made on first use. A failure is cached like a result."""

    def __init__(
        self,
        exercise: Exercise,
        files: Mapping[Side, Path | None],
        notify: Notify,
        profiled: Callable[[Exercise, Path, Case], Profile],
    ) -> None:
        self._exercise = exercise
        self._files = files
        self._notify = notify
        self._profiled = profiled
        self._known: dict[tuple[str, str], Profile | CourseError] = {}

    def of(self, side: Side, case: Case) -> Profile:
        key = (side, case.name)
        if key not in self._known:
            self._known[key] = self._run(side, case)
        known = self._known[key]
        if isinstance(known, CourseError):
            raise known
        return known

    def _run(self, side: Side, case: Case) -> Profile | CourseError:
        file = self._files[side]
        if file is None or not file.is_file():
            return CourseError(_ABSENT[side])
        self._notify(f"counting {'your kernel' if side == 'yours' else 'the ' + side} at {case.name}")
        try:
            seen = self._profiled(self._exercise, file, case)
        except CourseError as problem:
            return CourseError(f"{'your kernel' if side == 'yours' else side} did not run: {problem}")
        if seen.wrong:
            return CourseError(f"the answer of {'your kernel' if side == 'yours' else side} is wrong there")
        return seen
