"""A step that is timed: alone, cold, its outputs checked, and a target of its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from common.core.background import begin
from grader.building.build import Built
from grader.building.libraries import Libraries
from grader.devices.device import VirtualDevice
from grader.devices.time_budget import TimeBudget
from grader.pipeline.context import Context
from grader.pipeline.stages import steps
from grader.spec import Step
from grader.timing.measured import measure as speed_gpu
from grader.timing.speed_cases import COPY
from tests.grader.gpu_on_virtual import EngineSession, GpuOnVirtual, few_samples, gpu_on_virtual, measured
from tests.grader.pooled_exercise import (
    EXERCISE,
    SOLUTION,
    STEP,
    STEP_MISSING,
    STEP_WRONG_WHEN_LARGE,
    changed,
)

NAME = "doubled: many"


pytestmark = pytest.mark.usefixtures(gpu_on_virtual.__name__, few_samples.__name__)


def test_a_step_is_timed_beside_the_whole():
    speed = measured(SOLUTION, EXERCISE)
    assert speed.wrong == {}
    assert [target.decision for target in speed.targets] == ["met", "met"], speed.notes
    assert speed.targets[1].name == "bandwidth of double_all at many"
    case = speed.cases[-1]
    assert (case.name, case.against, case.protocol, case.bytes) == (NAME, COPY, "cold", 160_000)
    assert case.label == f"{NAME} against {COPY}"
    # The fixture's device copies a terabyte in half a second, read and written.
    assert case.baseline_seconds == pytest.approx(160_000 / speed.copy_bandwidth)
    assert speed.targets[1].value == pytest.approx(case.ratio, rel=0.05)


def test_an_exercise_may_have_no_other_target():
    speed = measured(SOLUTION, dataclasses.replace(EXERCISE, targets=EXERCISE.targets[1:]))
    assert [target.decision for target in speed.targets] == ["met"], speed.notes
    assert [case.name for case in speed.cases] == [NAME]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (STEP_WRONG_WHEN_LARGE, "it was wrong while it was timed: target[10000]"),
        (STEP_MISSING, "there is no entry point double_all"),
    ],
)
def test_a_step_that_cannot_be_timed_costs_its_own_target_alone(change, words: str):
    speed = measured(changed(change), EXERCISE)
    assert [target.decision for target in speed.targets] == ["met", "missed"], speed.notes
    assert words in speed.targets[1].message
    assert speed.wrong == {}
    assert NAME not in [case.name for case in speed.cases]


def test_a_step_faster_than_the_device_is_rejected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speed_gpu, "time_nothing", lambda: 1.0)
    speed = measured(SOLUTION, dataclasses.replace(EXERCISE, targets=EXERCISE.targets[1:]))
    assert speed.targets == []
    assert "less than the device needs" in speed.notes[0]
    assert speed.notes[0].startswith(NAME)


def test_where_python_is_handed_in_steps_are_not_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(EngineSession, "has_steps", False)
    speed = measured(SOLUTION, EXERCISE)
    assert [target.name for target in speed.targets] == ["speedup over the baseline, 2 cases"]
    assert "only in a kernel.cu: bandwidth of double_all at many" in speed.notes


def test_a_step_that_will_be_timed_must_be_right_there(monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []

    def run_task(task, *rest):
        asked.append([case.name for case in task.cases])
        return [], ""

    monkeypatch.setattr(steps, "run_task", run_task)
    for device in (GpuOnVirtual(), VirtualDevice()):
        built = Libraries(Built(), None, begin(tuple), Path())
        steps.grade_step(STEP, built, Context(device, "a seed", TimeBudget(), Path(), frozenset()))
    assert asked == [["one", "ninety", "many", "very many"], ["one", "ninety"]]


def test_a_step_with_bench_cases_says_how_many_bytes_it_moves():
    with pytest.raises(ValueError, match="double_all has bench cases and needs bytes_moved"):
        Step(**{**vars(STEP), "bytes_moved": None})
