"""On a GPU nobody sees who made an answer: what the virtual GPU sees in the public cases counts for all."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline import grading
from grader.records.record import Record
from grader.spec import Case, Exercise, Speedup
from tests.grader.attacks import ATTACKS, more_than
from tests.grader.gpu_on_virtual import GpuOnVirtual, gpu_on_virtual
from tests.grader.stepped_exercise import EXERCISE, LARGER, SMALL, SOLUTION
from tests.made_source import made_source

pytestmark = pytest.mark.usefixtures(gpu_on_virtual.__name__)
WHOLE = dataclasses.replace(EXERCISE, steps=())


class WithMemoryHere(GpuOnVirtual):
    tensors_on = "cpu"


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "device_of", lambda kind: WithMemoryHere())


def graded(text: str, exercise: Exercise = WHOLE, *stages: str) -> Record:
    source = made_source("kernel.cu", text)
    wanted = ("checks", *stages)
    return grading.grade(exercise, source, submission="x", device="gpu", seed="a seed", stages=wanted)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("memory that is registered", "not in a kernel"),
        ("by the times of events", "not in a kernel"),
        ("seen by a copy of few bytes", "not in a kernel"),
        ("a function of the host", "waits for the host"),
        ("seen behind more launches than anybody looks at", "takes too much"),
        ("a graph of its own nodes", "not in a kernel"),
        ("copies of many small pieces", "not in a kernel"),
    ],
)
def test_an_attack_that_only_the_virtual_gpu_sees_earns_nothing(name: str, verdict: str):
    record = graded(ATTACKS[name].text)
    assert (record.verdict, record.points) == (verdict, 0), record.parts


@pytest.mark.parametrize(
    "name",
    ["data beside nvcc's device code", "a module of the driver API", "rows kept in the heap of device code"],
)
def test_an_attack_on_device_code_earns_no_more_than_its_bound(name: str):
    """The worker that stands in for a GPU's has an engine of its own, which knows the file's device code."""
    attack = ATTACKS[name]
    record = graded(attack.text)
    assert more_than(attack.may_earn, record) == {}, record.verdict


def test_a_bound_leaves_no_attack_all_points():
    for name, attack in ATTACKS.items():
        assert sum(attack.may_earn.values()) < WHOLE.points.total, name
        assert set(attack.may_earn) <= set(vars(WHOLE.points)), name


def test_a_timed_size_is_asked_about_though_its_target_names_one_that_only_a_gpu_runs():
    """Must not earn: anything, by work of the host at a size that the virtual GPU can run."""
    giant = Case("giant", {"n": 1 << 30, "copies": 4}, gpu_only=True)
    with_giant = Speedup((LARGER, giant.name), passing=1.2, full=1.5, protocol="graph", share=0.5)
    exercise = dataclasses.replace(
        WHOLE,
        bench=(*WHOLE.bench, giant),
        targets=(Speedup((SMALL,), passing=1.2, full=1.5, protocol="graph", share=0.5), with_giant),
    )
    record = graded(ATTACKS["the host at a timed size"].text, exercise, "speed")
    assert (record.verdict, record.points) == ("not in a kernel", 0), record.parts
    assert [case.name for case in record.cases if not case.passed] == [LARGER]


def test_an_honest_kernel_earns_its_points():
    record = graded(SOLUTION.read_text())
    assert record.points == WHOLE.points.correct + WHOLE.points.clean, record.parts
