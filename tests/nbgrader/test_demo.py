"""The demo class's best student answers every question that is asked on the class's device."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader.nbgrader import demo
from grader.questions.grading import asked_on
from grader.questions.measured import Measured
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.records.record import Speed, SpeedCase
from grader.spec import Exercise, registry

EXERCISE = registry.find("01")


def counted(exercise: Exercise, yours: object) -> Measured:
    return Measured({one.name: 1.0 for one in asked_on(DeviceInfo(VIRTUAL, ""), exercise.predictions)})


def timed_everywhere(exercise: Exercise, *_: object, **__: object) -> SimpleNamespace:
    cases = [SpeedCase(case.name, {}, 4e-6, 2e-6, 2.0, 1.9, 2.1) for case in exercise.bench]
    return SimpleNamespace(speed=Speed(False, cases))


@pytest.mark.parametrize("kind", [VIRTUAL, GPU])
def test_the_best_student_answers_all_that_is_asked(kind: str, monkeypatch: pytest.MonkeyPatch):
    device = DeviceInfo(kind, "")
    monkeypatch.setattr(demo, "measure", counted)
    monkeypatch.setattr(demo, "grade", timed_everywhere)
    asked = {one.name for one in asked_on(device, EXERCISE.predictions)}
    assert demo._to_predict(EXERCISE, device).values.keys() == asked
