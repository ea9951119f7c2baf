"""Scratch buffers, whose contents before and after a call are ignored, and inputs that must be restored."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from common.build.program import Target
from grader.answers.compare import answer, difference, expected
from grader.building.build import build
from grader.devices.on_gpu import arena
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.scratch import POISON
from grader.devices.session import Session
from grader.pipeline.grading import grade
from grader.records.record import Record, Speed
from grader.spec import At, Call, Speedup, TimingProtocol
from grader.spec.random_inputs import Random
from grader.timing.measured import interleaved
from grader.timing.measured import measure as speed_gpu
from tests.grader.gpu_on_virtual import EngineSession, HostBuffer, gpu_on_virtual
from tests.grader.pooled_exercise import (
    COUNTERS_LEFT,
    EXERCISE,
    HALF_FORGOTTEN,
    SCRATCH_READ_FIRST,
    SOLUTION,
    changed,
)

SIZE = EXERCISE.cases[0].size


def graded(source: Path) -> Record:
    stages = ("build", "correctness", "checks", "mechanism")
    return grade(EXERCISE, source, submission="x", device="virtual", stages=stages)


def call() -> Call:
    return EXERCISE.inputs(SIZE, Random("scratch"))


def test_contents_of_scratch_after_a_call_are_ignored():
    record = graded(SOLUTION)
    assert not record.findings
    assert all(case.passed for case in record.cases), [case.message for case in record.cases]


def test_scratch_is_neither_shown_to_the_reference_nor_compared():
    made = call()
    assert "scratch" not in expected(EXERCISE, SIZE, made)
    assert made.inputs == ["values", "counters"]
    after = expected(EXERCISE, SIZE, made)
    assert difference(EXERCISE, SIZE, made, answer(EXERCISE, SIZE, made), after) is None


def test_a_buffer_cannot_be_scratch_and_output():
    with pytest.raises(ValueError, match="out: a buffer is compared or is scratch"):
        dataclasses.replace(call(), scratch=("scratch", "out"))


def test_scratch_that_is_read_before_it_is_written_is_found():
    record = graded(changed(SCRATCH_READ_FIRST))
    assert "init" in {finding["kind"] for finding in record.findings}
    # Not a number times zero is not a number: what scratch holds makes the mistake show.
    assert record.verdict == "wrong answer"


def test_a_counter_that_is_not_restored_is_a_changed_input():
    record = graded(changed(COUNTERS_LEFT))
    assert record.verdict == "input changed"
    assert "counters[0] was 0 and is 2 after the call" in record.cases[-1].message


def test_a_known_mistake_is_recognised_in_spite_of_rounding():
    record = graded(changed(HALF_FORGOTTEN))
    assert record.verdict == "wrong answer"
    failed = next(case for case in record.cases if not case.passed)
    assert "It looks like this: the second part of every row is missing" in failed.message


def sessions(library: Path) -> list[Session]:
    return [VirtualSession(library), EngineSession(library)]


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
def test_every_call_finds_scratch_as_if_it_were_never_written():
    built = build(changed(SCRATCH_READ_FIRST), Target.virtual("90"))
    assert built.library is not None, built.message
    for session in sessions(built.library):
        with session:
            for number in range(2):
                outcome = session.run(EXERCISE.entry, call(), 60.0)
                assert outcome.ok, outcome.message
                assert "scratch" not in outcome.after
                assert bool(torch.isnan(outcome.after["out"]).all()), number
                if isinstance(session, VirtualSession):
                    assert [finding.kind for finding in outcome.report.findings] == ["init"], number


def test_scratch_lies_behind_everything_else_in_an_arena(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arena, "WHERE", "cpu")
    monkeypatch.setattr(arena, "SharedBuffer", HostBuffer)
    calls = [call(), call()]
    place = arena.Arena(calls, 512)
    image = place.image(calls)
    assert image.numel() == place.bytes == place.starts[-1]
    for number in range(2):
        assert place.address(0, number, "scratch") >= place.bytes
        assert "scratch" not in place.views(image, number)
    assert place.address(0, 0, "scratch") != place.address(0, 1, "scratch")
    place.fill(image)
    memory = place.buffer.tensor()
    assert bool((memory[place.bytes :] == POISON).all())
    wanted = place.wanted(EXERCISE, SIZE, calls, image)
    for number in range(2):
        place.views(place.now(), number)["out"].copy_(wanted.answers[number].outputs["out"])
    memory[place.bytes :] = 7
    assert place.first_wrong(EXERCISE, SIZE, calls, wanted) is None
    place.now()[place.starts[1] - 1] = 0
    wrong = place.first_wrong(EXERCISE, SIZE, calls, wanted)
    assert wrong is not None
    assert "between the buffers" in wrong[1].message


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
@pytest.mark.parametrize("protocol", ["cold", "graph"])
def test_calls_that_are_timed_have_scratch_of_their_own(
    protocol: TimingProtocol, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(speed_gpu, "PAIRS", 2)
    monkeypatch.setattr(interleaved, "_BATCHES", 1)
    case = EXERCISE.bench[0].name
    target = Speedup((case,), passing=0.5, full=0.6, least_each=0.1, protocol=protocol)
    exercise = dataclasses.replace(EXERCISE, targets=(target,))

    def measured(source: Path) -> Speed:
        ours, theirs = (build(one, Target.virtual("90")).library for one in (source, EXERCISE.baseline))
        assert ours is not None
        assert theirs is not None
        return speed_gpu.measure(exercise, theirs, EngineSession(ours), "secret")

    assert [one.decision for one in measured(SOLUTION).targets] == ["met"]
    left = measured(changed(COUNTERS_LEFT))
    assert left.targets == []
    assert "counters[0] was 0 and is 2 after the call" in left.wrong[case]


def test_a_call_that_is_refused_may_have_used_its_scratch():
    made = Call({"s": torch.zeros(4)}, (), (At("s"),), returns=1, scratch=("s",))
    assert difference(EXERCISE, SIZE, made, answer(EXERCISE, SIZE, made), {}) is None
