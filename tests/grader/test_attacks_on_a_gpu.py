"""On a GPU nobody sees who made an answer: what the virtual GPU sees in the public cases counts for all."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline import grading
from grader.records.record import Record
from tests.grader.attacks import ATTACKS
from tests.grader.gpu_on_virtual import GpuOnVirtual, gpu_on_virtual
from tests.grader.stepped_exercise import EXERCISE, SOLUTION
from tests.made_source import made_source

pytestmark = pytest.mark.usefixtures(gpu_on_virtual.__name__)
WHOLE = dataclasses.replace(EXERCISE, steps=())


class WithMemoryHere(GpuOnVirtual):
    tensors_on = "cpu"


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "device_of", lambda kind: WithMemoryHere())


def graded(text: str) -> Record:
    source = made_source("kernel.cu", text)
    return grading.grade(WHOLE, source, submission="x", device="gpu", seed="a seed", stages=("checks",))


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("memory that is registered", "not in a kernel"),
        ("by the times of events", "not in a kernel"),
        ("seen by a copy of few bytes", "not in a kernel"),
        ("a function of the host", "waits for the host"),
        ("seen behind more launches than anybody looks at", "takes too much"),
    ],
)
def test_an_attack_that_only_the_virtual_gpu_sees_earns_nothing(name: str, verdict: str):
    record = graded(ATTACKS[name])
    assert (record.verdict, record.points) == (verdict, 0), record.parts


def test_an_honest_kernel_earns_its_points():
    record = graded(SOLUTION.read_text())
    assert record.points == WHOLE.points.correct + WHOLE.points.clean, record.parts
