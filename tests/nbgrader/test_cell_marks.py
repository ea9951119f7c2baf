"""What a cell earns follows from a record and from answers: between nothing and the cell's own points."""

from __future__ import annotations

import dataclasses

import pytest

from grader.nbgrader.handing_in.answers import Answers, read_answers
from grader.nbgrader.marks.cell_marks import Marker, slug
from grader.records.device_info import DeviceInfo
from grader.records.record import PartResult
from grader.spec import registry
from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question
from tests.grader.fake_pipeline import SEED, make_record
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.stand_in import COUNTED

NOTHING = Answers({})


@pytest.fixture
def exercise(small_class):
    return registry.find(FIRST)


def test_parts_are_found_by_their_names_in_lower_case_with_hyphens():
    assert slug("Two vectors, at once") == "two-vectors-at-once"


def test_a_cell_that_names_no_part_earns_nothing(exercise):
    """nbgrader gives full marks to a cell without a number."""
    marker = Marker(exercise, make_record(), NOTHING)
    for grade_id in ("part-luck", "bonus", "q-why"):
        assert marker.mark(grade_id, 7).points == 0
    assert Marker(None, None, NOTHING).mark("part-correct", 7).points == 0


@pytest.mark.parametrize(("points", "earned"), [(-3.0, 0.0), (1000.0, 5.0), (2.5, 2.5)])
def test_points_stay_between_nothing_and_the_cells_own(exercise, points, earned):
    record = make_record()
    record.parts = [PartResult("correct", points, 5.0)]
    assert Marker(exercise, record, NOTHING).mark("part-correct", 5.0).points == earned


def test_in_python_right_answers_also_earn_the_points_of_checks(exercise):
    record = make_record()
    record.file = "kernel.py"
    record.parts = [PartResult("correct", 60.0, 75.0), PartResult("speed", 25.0, 25.0)]
    marker = Marker(exercise, record, NOTHING)
    cells = {"part-correct": 50, "part-clean": 15, "part-mechanism": 10, "part-speed": 25}
    assert sum(marker.mark(name, most).points for name, most in cells.items()) == 85


def test_predictions_that_could_not_be_counted_say_why(exercise):
    record = make_record()
    record.unmeasured = {"launches": "your kernel did not run"}
    found = Marker(exercise, record, read_answers('predictions = {"launches": 1}')).mark(
        "predictions-points", 2
    )
    assert found.points == 0
    assert "your kernel did not run" in repr(found.reasons)


def test_a_measured_speedup_shares_the_points_where_a_gpu_grades_and_is_not_asked_for_elsewhere(exercise):
    fast = Question("fast", "measured speedup", Factor(), Counted(MEASURED_SPEEDUP, "64 tokens"), points=2)
    exercise = dataclasses.replace(exercise, predictions=(*exercise.predictions, fast))
    answers = read_answers('predictions = {"launches": 1, "bytes": 4096, "fast": 9}')
    record = make_record()
    record.measured = {**COUNTED, "fast": 3.0}
    found = Marker(exercise, record, answers).mark("predictions-points", 4)
    assert found.points == 4
    assert "fast" not in repr(found.reasons)
    record.device = DeviceInfo("gpu", "NVIDIA H200")
    assert Marker(exercise, record, answers).mark("predictions-points", 4).points == 2


def test_no_mark_shows_the_seed(exercise):
    record = make_record(right=False)
    record.measured = dict(COUNTED)
    record.output = f"the seed is {SEED}"
    marker = Marker(exercise, record, NOTHING)
    for name in ("part-correct", "part-speed", "predictions-points"):
        shown = marker.mark(name, 5).reasons
        assert SEED not in repr(shown) + shown._repr_html_()
