"""On a GPU the reference earns full marks and the baseline none for speed, by times that hold together."""

from __future__ import annotations

import pytest

from grader.pipeline import grade
from grader.record import Record
from grader.registry import all_exercises
from grader.spec import Exercise


@pytest.fixture(scope="module", params=all_exercises(), ids=lambda exercise: exercise.id)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return request.param


@pytest.fixture(scope="module")
def solution(exercise: Exercise) -> Record:
    return grade(exercise, exercise.solution, submission="solution", device="gpu")


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


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
        assert len(case.samples) >= 64
        assert case.low <= case.ratio <= case.high
        assert case.bandwidth < 1.3 * solution.speed.copy_bandwidth


def test_the_baseline_is_correct_and_no_faster_than_itself(exercise: Exercise) -> None:
    record = grade(exercise, exercise.baseline, submission="baseline", device="gpu")
    earned = points(record)
    assert earned["correct"] == exercise.points.correct
    assert (
        earned["speed"] <= 0.2 * exercise.points.speed
    )  # of a bandwidth target, which the baseline may reach
    assert record.speed is not None
    assert record.speed.targets[0].decision == "missed"


def test_the_starter_compiles_and_earns_nothing(exercise: Exercise) -> None:
    record = grade(exercise, exercise.starter, submission="starter", device="gpu", quick=True)
    assert record.points == 0
    assert record.verdict == "wrong answer"
