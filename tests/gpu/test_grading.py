"""On a GPU the reference earns full marks and the baseline none for speed, by times that hold together."""

from __future__ import annotations

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import BASELINE, Exercise, Speedup, Target
from grader.spec.registry import all_exercises


@pytest.fixture(scope="module", params=all_exercises(), ids=lambda exercise: exercise.id)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return request.param


@pytest.fixture(scope="module")
def solution(exercise: Exercise) -> Record:
    return grade(exercise, exercise.solution, submission="solution", device="gpu")


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def _over_the_baseline(target: Target) -> bool:
    return isinstance(target, Speedup) and target.against == BASELINE


def test_the_solution_earns_full_marks(solution: Record) -> None:
    assert solution.verdict == "full marks", [
        part for part in solution.parts if part.points < part.max_points
    ]


def test_cases_too_large_for_a_virtual_gpu_were_run(solution: Record, exercise: Exercise) -> None:
    wanted = {case.name for case in exercise.cases if case.gpu_only}
    assert wanted <= {case.name for case in solution.cases if case.passed}


def test_times_are_plausible(solution: Record) -> None:
    assert solution.speed is not None
    assert not solution.speed.modelled
    assert solution.speed.copy_bandwidth > 1e11
    for case in solution.speed.cases:
        assert case.low <= case.ratio <= case.high
        if case.protocol != "host":
            assert len(case.samples) >= 11
            assert case.bandwidth < 1.3 * solution.speed.copy_bandwidth


def test_the_baseline_is_correct_and_no_faster_than_itself(exercise: Exercise) -> None:
    record = grade(exercise, exercise.baseline, submission="baseline", device="gpu")
    earned = points(record)
    assert earned["correct"] == exercise.points.correct
    # Targets that are not about the baseline itself, such as a bandwidth, it may reach.
    others = sum(t.share for t in exercise.targets if not _over_the_baseline(t))
    assert earned["speed"] <= exercise.points.speed * others / sum(t.share for t in exercise.targets)
    assert record.speed is not None
    assert record.speed.targets[0].decision == "missed"


def test_the_starter_compiles_and_earns_nothing(exercise: Exercise) -> None:
    record = grade(exercise, exercise.starter, submission="starter", device="gpu", quick=True)
    assert record.points == 0
    assert record.verdict == "wrong answer"
