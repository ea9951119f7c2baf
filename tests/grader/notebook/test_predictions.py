"""Predictions are marked right at the edges, and whatever stands in an answer cell gets a sentence."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.core.errors import CourseError
from common.virtual_gpu.report import Report
from grader.actions.check import Checked
from grader.actions.profile import Profile
from grader.notebook import errand_process
from grader.notebook.views.compare_view import Comparison, Questions
from grader.questions.measured import measure, timed
from grader.questions.predictions import MOST_ANSWERS, asked_on, closeness, mark, unknown_names
from grader.questions.quantities import QUANTITIES
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.records.record import Speed, SpeedCase
from grader.spec import Case, Exercise, registry
from grader.spec.prediction import MEASURED_SPEEDUP, Prediction
from tests.grader.fake_pipeline import make_record
from tests.grader.notebook.html_reading import read
from tests.grader.notebook.seen_fixtures import launch

SECTORS = Prediction("sectors", "sectors", "launches", "a", full=1.25, none=4.0, points=2.0, why="So it is.")
EXACT = Prediction("launches", "launches", "launches", "a", full=1.0, none=1.0)

positive = st.floats(1e-6, 1e12)
factor = st.floats(1.0, 100.0)


def credit(answer: object, measured: float = 16.0, asked: Prediction = SECTORS) -> float:
    (marked,) = mark([asked], {asked.name: answer}, {asked.name: measured})
    return marked.credit


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (16, 1),
        (20, 1),
        (12.8, 1),
        (20.1, 0.99),
        (64, 0),
        (4, 0),
        (65, 0),
        (32, 0.596),
        (8, 0.596),
        (0, 0),
        (-16, 0),
    ],
)
def test_credit_falls_with_the_factor(answer: float, wanted: float):
    assert credit(answer) == pytest.approx(wanted, abs=0.01)


@given(positive, factor)
def test_too_high_and_too_low_by_the_same_factor_earn_the_same(measured: float, off: float):
    assert credit(measured * off, measured) == pytest.approx(credit(measured / off, measured), abs=1e-6)


@given(positive, factor, factor)
def test_a_closer_answer_never_earns_less(measured: float, one: float, other: float):
    near, far = sorted((one, other))
    assert credit(measured * near, measured) >= credit(measured * far, measured) - 1e-9


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False), factor, factor)
def test_credit_is_between_0_and_1(answer: float, measured: float, one: float, other: float):
    full, none = sorted((one, other))
    asked = Prediction("x", "", "launches", "", full=full, none=none)
    assert 0 <= credit(answer, measured, asked) <= 1


@given(positive)
def test_the_measured_number_itself_is_always_right(measured: float):
    assert credit(measured, measured) == credit(measured, measured, EXACT) == 1


def test_an_exact_number_has_no_neighbours():
    assert credit(1, 1, EXACT) == credit(1.0, 1, EXACT) == 1
    assert credit(2, 1, EXACT) == credit(1.0001, 1, EXACT) == 0


def test_zero_is_right_only_where_zero_was_counted():
    assert credit(0, 0) == 1
    assert credit(0.001, 0) == credit(0, 0.001) == 0
    assert closeness(-2, -2, 1, 1) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "not answered yet"),
        (..., "not answered yet"),
        ("16", "a number was expected, not a str"),
        (True, "not a bool"),
        ([16], "not a list"),
        (math.nan, "a finite number"),
        (math.inf, "a finite number"),
        (-math.inf, "a finite number"),
        (10**400, "a finite number"),
        (1e300, "a finite number"),
        (16 + 0j, "not a complex"),
    ],
)
def test_what_is_no_number_earns_nothing_and_is_told(answer: object, words: str):
    (marked,) = mark([SECTORS], {"sectors": answer}, {"sectors": 16.0})
    assert marked.credit == 0
    assert words in marked.reason
    assert not marked.pending


@pytest.mark.parametrize(
    "answers", [None, "sectors", [("sectors", 16)], 7, {n: n for n in range(MOST_ANSWERS + 1)}]
)
def test_answers_that_are_no_small_dict_earn_nothing(answers: object):
    (marked,) = mark([SECTORS], answers, {"sectors": 16.0})
    assert marked.credit == 0
    assert "answers" in marked.reason


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_whatever_stands_there_is_marked(answer: object):
    (marked,) = mark([SECTORS], {"sectors": answer}, {"sectors": 16.0})
    assert 0 <= marked.credit <= 1
    assert marked.reason


@pytest.mark.parametrize("measured", [{}, {"sectors": math.nan}, {"sectors": math.inf}])
def test_without_a_measured_value_it_is_pending(measured: dict[str, float]):
    (marked,) = mark([SECTORS], {"sectors": 16}, measured)
    assert marked.pending
    assert marked.credit == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (16, "right: So it is."),
        (18, "close enough"),
        (24, "50 % too high"),
        (4, "4 times too low"),
        (0, "16 was"),
    ],
)
def test_the_reason_says_how_far_off(answer: float, words: str):
    (marked,) = mark([SECTORS], {"sectors": answer}, {"sectors": 16.0})
    assert words in marked.reason


def test_typing_mistakes_in_names_are_told():
    answers: dict[object, int] = {"sectors": 1, "secters": 2, 5: 3}
    answers.update((f"x{n}", 0) for n in range(9))
    assert unknown_names([SECTORS], answers)[:2] == ["secters", "x0"]
    assert len(unknown_names([SECTORS], answers)) == 5
    assert unknown_names([SECTORS], None) == []


def test_a_table_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="full <= none"):
        Prediction("x", "", "launches", "a", full=2.0, none=1.5)
    with pytest.raises(ValueError, match="side is one of"):
        Prediction("x", "", "launches", "a", side="theirs")  # type: ignore[arg-type]


def test_the_comparison_shows_yours_beside_what_was_counted():
    asked = [SECTORS, EXACT]
    shown = Comparison(
        asked, mark(asked, {"sectors": 32, "launches": 1}, {"sectors": 16.0}), {"launches": "later"}
    )
    html = read(shown)
    assert html.text.startswith("Predictions: 1.19/3 points")
    assert "2 times too high: So it is." in html.text
    assert shown.credit == pytest.approx(1.19 / 3, abs=0.01)
    assert "2 times too high" in repr(shown)


def test_what_was_counted_stays_hidden_until_there_is_a_prediction():
    asked = [SECTORS]
    text = read(Comparison(asked, mark(asked, {"sectors": ...}, {"sectors": 1234.0}), {})).text
    assert "not answered yet" in text
    assert "1,234" not in text
    assert "So it is." not in text


def test_the_questions_come_with_an_answer_cell():
    text = read(Questions([SECTORS, EXACT])).text
    assert 'predictions = {\n    "sectors": ...,\n    "launches": ...,\n}' in text


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_every_table_names_quantities_and_bench_cases_that_exist(exercise: Exercise):
    names = [one.name for one in exercise.predictions]
    assert len(set(names)) == len(names)
    for one in exercise.predictions:
        assert one.quantity in QUANTITIES
        assert one.needs_gpu or not exercise.bench_case(one.case).gpu_only


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_twenty_points_without_a_gpu_and_one_number_more_with_one(exercise: Exercise):
    assert sum(one.points for one in asked_on(DeviceInfo(VIRTUAL, ""), exercise.predictions)) == 20
    more = set(asked_on(DeviceInfo(GPU, ""), exercise.predictions)) - set(
        asked_on(DeviceInfo(VIRTUAL, ""), exercise.predictions)
    )
    assert [one.quantity for one in more] == [MEASURED_SPEEDUP]


def timed_at(*cases: str, modelled: bool = False) -> Speed:
    return Speed(modelled, [SpeedCase(case, {}, 4e-6, 2e-6, 2.0, 1.9, 2.1) for case in cases])


def test_a_measured_speedup_is_one_of_the_times_that_a_gpu_took():
    one, other = (case.name for case in registry.find("01").bench[:2])
    exercise = exercise_asking(Prediction("fast", "", MEASURED_SPEEDUP, one))
    assert timed(exercise, timed_at(one, other)).values == {"fast": 2.0}
    for speed in (None, timed_at(other), timed_at(one, modelled=True)):
        found = timed(exercise, speed)
        assert found.values == {}
        assert one in found.missing["fast"]
    assert measure(exercise, None).missing == {}, "the virtual GPU is not asked"


def test_a_notebook_has_its_kernel_timed_only_for_a_number_that_needs_it(tmp_path, monkeypatch):
    case = registry.find("01").bench[0].name
    exercise = exercise_asking(Prediction("fast", "", MEASURED_SPEEDUP, case))
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("// mine\n")
    record = make_record()
    record.speed = timed_at(case)
    devices: list[str] = []

    def checked(exercise: Exercise, file: Path, text: str, device: DeviceInfo, *others: object) -> Checked:
        devices.append(device.kind)
        return Checked(record, [])

    monkeypatch.setattr(errand_process, "checked", checked)
    assert errand_process.measure(exercise, kernel, print, names=[])["values"] == {}
    assert devices == []
    assert errand_process.measure(exercise, kernel, print, names=["fast"])["values"] == {"fast": 2.0}
    assert devices == ["gpu"]
    kernel.unlink()
    found = errand_process.measure(exercise, kernel, print, names=["fast"])
    assert "kernel.cu cannot be checked" in found["missing"]["fast"]


def test_only_the_submission_is_timed():
    with pytest.raises(ValueError, match="not baseline"):
        Prediction("fast", "", MEASURED_SPEEDUP, "any", side="baseline")


def profile_of(seconds: float) -> Profile:
    return Profile(Report.from_dict({"launches": [launch()]}), seconds, seconds / 2)


def exercise_asking(*asked: Prediction) -> Exercise:
    return dataclasses.replace(registry.find("01"), predictions=asked)


def test_each_kernel_runs_once_a_case_and_speedup_is_over_the_baseline(tmp_path):
    case = registry.find("01").bench[0].name
    asked = [
        Prediction("fast", "", "speedup", case),
        Prediction("sectors", "", "async_sectors_per_request", case),
        Prediction("shared", "", "shared_bytes", case, side="baseline"),
        Prediction("best", "", "speedup", case, side="solution"),
    ]
    exercise = exercise_asking(*asked)
    mine = tmp_path / "kernel.cu"
    mine.write_text("")
    ran: list[str] = []

    def profiled(exercise: Exercise, file: Path, case: Case) -> Profile:
        ran.append(file.parent.name if file != mine else "mine")
        return profile_of(2e-6 if file == mine else 6e-6)

    found = measure(exercise, mine, profiled=profiled)
    assert found.values == {"fast": 3.0, "sectors": 16.0, "shared": 4096.0, "best": 1.0}
    assert len(ran) == 3


def test_a_baseline_is_counted_on_the_case_that_it_stands_on():
    """Exercise 04's stands on the same tokens in 8 bits."""
    exercise = registry.find("04")
    case = exercise.bench[0]
    asked = Prediction("base", "", "first_bytes_read", case.name, side="baseline")
    ran: list[str] = []

    def profiled(exercise: Exercise, file: Path, case: Case) -> Profile:
        ran.append(case.name)
        return profile_of(1e-6)

    measure(dataclasses.replace(exercise, predictions=(asked,)), None, profiled=profiled)
    assert ran == [exercise.case_of_baseline(case).name] != [case.name]


def test_a_kernel_that_is_missing_or_wrong_leaves_a_sentence(tmp_path):
    case = registry.find("01").bench[0].name
    exercise = exercise_asking(
        Prediction("mine", "", "launches", case),
        Prediction("best", "", "launches", case, side="solution"),
        Prediction("base", "", "launches", case, side="baseline"),
    )
    exercise = dataclasses.replace(exercise, solution=tmp_path / "none.cu")

    def wrong(*arguments: object) -> Profile:
        return dataclasses.replace(profile_of(1e-6), wrong="k[0] is off")

    def broken(*arguments: object) -> Profile:
        raise CourseError("it does not compile")

    found = measure(exercise, tmp_path / "kernel.cu", profiled=wrong)
    assert found.values == {}
    assert "no kernel.cu of yours" in found.missing["mine"]
    assert "when it is graded" in found.missing["best"]
    assert "wrong" in found.missing["base"]
    assert "does not compile" in measure(exercise, None, profiled=broken).missing["base"]
