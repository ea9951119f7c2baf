"""The truths of predictions: counted once for each kernel and case, or taken from the times of a GPU."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.virtual_gpu.report import Report
from grader.actions.check import Checked
from grader.actions.profile import Profile
from grader.notebook import rpc_process
from grader.questions.grading import asked_on
from grader.questions.measured import measure, timed
from grader.questions.quantities import QUANTITIES
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.records.record import Speed, SpeedCase
from grader.spec import Case, Exercise, registry
from grader.spec.question import MEASURED_SPEEDUP, Counted, Factor, Question
from tests.grader.fake_pipeline import make_record
from tests.grader.notebook.seen_fixtures import launch

HERE = DeviceInfo(VIRTUAL, "")


def prediction(name: str, *truth: str) -> Question:
    return Question(name, "", Factor(), Counted(*truth))  # type: ignore[arg-type]


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_every_table_names_quantities_and_bench_cases_that_exist(exercise: Exercise):
    names = [one.name for one in exercise.predictions]
    assert len(set(names)) == len(names)
    for one in exercise.predictions:
        assert isinstance(one.truth, Counted)
        assert one.truth.quantity in QUANTITIES
        assert one.needs_gpu or not exercise.bench_case(one.truth.case).gpu_only


WITH_A_NOTEBOOK = [one for one in registry.all_exercises() if (REPOSITORY / "notebooks" / one.id).exists()]


@pytest.mark.parametrize("exercise", WITH_A_NOTEBOOK, ids=lambda exercise: exercise.id)
def test_twenty_points_without_a_gpu_and_one_number_more_with_one(exercise: Exercise):
    assert sum(one.points for one in asked_on(HERE, exercise.predictions)) == 20
    more = set(asked_on(DeviceInfo(GPU, ""), exercise.predictions)) - set(
        asked_on(HERE, exercise.predictions)
    )
    assert [one.needs_gpu for one in more] == [True]


def timed_at(*cases: str, modelled: bool = False) -> Speed:
    return Speed(modelled, [SpeedCase(case, {}, 4e-6, 2e-6, 2.0, 1.9, 2.1) for case in cases])


def test_a_measured_speedup_is_one_of_the_times_that_a_gpu_took():
    one, other = (case.name for case in registry.find("01").bench[:2])
    exercise = exercise_asking(prediction("fast", MEASURED_SPEEDUP, one))
    assert timed(exercise, timed_at(one, other)).values == {"fast": 2.0}
    for speed in (None, timed_at(other), timed_at(one, modelled=True)):
        found = timed(exercise, speed)
        assert found.values == {}
        assert one in found.missing["fast"]
    assert measure(exercise, None).missing == {}, "the virtual GPU is not asked"


def test_a_notebook_has_its_kernel_timed_only_for_a_number_that_needs_it(tmp_path, monkeypatch):
    case = registry.find("01").bench[0].name
    exercise = exercise_asking(prediction("fast", MEASURED_SPEEDUP, case))
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("// mine\n")
    record = make_record()
    record.speed = timed_at(case)
    devices: list[str] = []

    def checked(exercise: Exercise, file: Path, text: str, device: DeviceInfo, *others: object) -> Checked:
        devices.append(device.kind)
        return Checked(record, [])

    monkeypatch.setattr(rpc_process, "checked", checked)
    assert rpc_process.measure(exercise, kernel, print, names=[])["values"] == {}
    assert devices == []
    assert rpc_process.measure(exercise, kernel, print, names=["fast"])["values"] == {"fast": 2.0}
    assert devices == ["gpu"]
    kernel.unlink()
    found = rpc_process.measure(exercise, kernel, print, names=["fast"])
    assert "kernel.cu cannot be checked" in found["missing"]["fast"]


def profile_of(seconds: float) -> Profile:
    return Profile(Report.from_dict({"launches": [launch()]}), seconds, seconds / 2)


def exercise_asking(*asked: Question) -> Exercise:
    return dataclasses.replace(registry.find("01"), predictions=asked)


def test_each_kernel_runs_once_a_case_and_speedup_is_over_the_baseline(tmp_path):
    case = registry.find("01").bench[0].name
    asked = [
        prediction("fast", "speedup", case),
        prediction("sectors", "async_sectors_per_request", case),
        prediction("shared", "shared_bytes", case, "baseline"),
        prediction("best", "speedup", case, "solution"),
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


def test_a_baseline_is_counted_on_its_own_case():
    """Exercise 04's baseline uses the same tokens in 8 bits."""
    exercise = registry.find("04")
    case = exercise.bench[0]
    asked = prediction("base", "first_bytes_read", case.name, "baseline")
    ran: list[str] = []

    def profiled(exercise: Exercise, file: Path, case: Case) -> Profile:
        ran.append(case.name)
        return profile_of(1e-6)

    measure(dataclasses.replace(exercise, predictions=(asked,)), None, profiled=profiled)
    assert ran == [exercise.case_of_baseline(case).name] != [case.name]


def test_a_kernel_that_is_missing_or_wrong_leaves_a_sentence(tmp_path):
    case = registry.find("01").bench[0].name
    exercise = exercise_asking(
        prediction("mine", "launches", case),
        prediction("best", "launches", case, "solution"),
        prediction("base", "launches", case, "baseline"),
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
