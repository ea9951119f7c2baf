"""On a machine that is loaded five times over, nothing that is right fails for its time."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.core.cpu_time import threads_of
from common.core.errors import MachineOverloaded
from common.worker.process import Worker, WorkerTimeout
from grader.building.libraries import Libraries
from grader.classes import class_run
from grader.classes.class_run import UNGRADED
from grader.devices import time_budget
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.session import Outcome
from grader.pipeline.context import Context
from grader.pipeline.judging.cases import CaseRun
from grader.pipeline.judging.task import run_task
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise, registry
from grader.spec.random_inputs import Random
from grader.timing.modelled import model as speed_virtual
from tests.common.test_cpu_time import crowd

CASE = "4,096 tokens, 8 × 128"  # about 0.15 s of the engine's own time
LIMIT = 3.0  # calls of this machine's own time, measured without a crowd


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """01 with one case, and that a large one."""
    torch.set_num_threads(1)  # as in grading
    whole = registry.find("01")
    return dataclasses.replace(whole, cases=(whole.bench_case(CASE),), hidden=lambda rng: (), steps=())


@pytest.fixture(scope="module")
def built(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    return VirtualDevice().compile(exercise.solution, tmp_path_factory.mktemp("built"))


@pytest.fixture
def limit(exercise: Exercise, built: Libraries, monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Seconds that a call may take: some times what this machine needs."""
    with VirtualDevice().session(built) as session:
        alone = session.run(exercise.entry, exercise.inputs(exercise.cases[0].size, Random("some")), 20.0)
    assert alone.ok, alone
    seconds = LIMIT * alone.seconds
    monkeypatch.setattr(time_budget, "CALL_SECONDS", seconds)
    monkeypatch.setattr(time_budget, "_LEAST_SECONDS", seconds)
    with crowd(5 * len(os.sched_getaffinity(0))):
        yield seconds


def run(exercise: Exercise, built: Libraries, seconds: float) -> CaseRun:
    context = Context(
        VirtualDevice(), "seed", time_budget.TimeBudget(3 * seconds), built.scratch, frozenset(), quick=True
    )
    ((found,), _) = run_task(exercise, built, context, "secret")
    return found


@pytest.mark.skipif(threads_of(os.getpid()) is None, reason="this kernel writes nothing down about waits")
def test_a_right_kernel_passes_where_a_wall_clock_would_fail_it(
    exercise: Exercise, built: Libraries, limit: float, monkeypatch: pytest.MonkeyPatch
):
    by_wall_clock, call = [], VirtualSession.run

    def timed(*arguments) -> Outcome:
        started = time.monotonic()
        outcome = call(*arguments)
        by_wall_clock.append(time.monotonic() - started)
        return outcome

    monkeypatch.setattr(VirtualSession, "run", timed)
    found = run(exercise, built, limit)
    if max(by_wall_clock) < limit:  # a machine with more cores than the crowd can fill
        pytest.skip("this machine has no load to speak of")
    assert found.result.passed, found.result


@pytest.mark.parametrize("times", [1, 2])
def test_a_call_that_got_too_little_cpu_time_is_repeated_once(
    exercise: Exercise, built: Libraries, monkeypatch: pytest.MonkeyPatch, times: int
):
    calls, starved = Worker.calls, [""] * times

    def starving(self, orders, what, timeout):
        if what == exercise.entry and starved:
            starved.pop()
            raise WorkerTimeout(what, timeout, "0.1 s of CPU time and sleep in 200 s")
        return calls(self, orders, what, timeout)

    monkeypatch.setattr(Worker, "calls", starving)
    call = exercise.inputs(exercise.cases[0].size, Random("some"))
    with VirtualDevice().session(built) as session:
        if times == 1:
            assert session.run(exercise.entry, call, 20.0).ok
        else:
            with pytest.raises(MachineOverloaded, match=r"too busy: \w+ got only 0.1 s of CPU time"):
                session.run(exercise.entry, call, 20.0)


@pytest.mark.parametrize("times", [1, 2])
def test_a_baseline_that_times_out_twice_means_an_overloaded_machine(
    exercise: Exercise, monkeypatch: pytest.MonkeyPatch, times: int
):
    outcomes = [Outcome("timeout", "it did not return")] * times + [Outcome()]
    monkeypatch.setattr(VirtualSession, "run", lambda *_: outcomes.pop(0))
    session = VirtualSession(Path("none.so"))
    if times == 1:
        assert speed_virtual._run_baseline(exercise, session, exercise.cases[0], "a seed").outcome.ok
    else:
        with pytest.raises(MachineOverloaded, match="this machine is too busy: the baseline of 01_kv_store"):
            speed_virtual._run_baseline(exercise, session, exercise.cases[0], "a seed")


def test_a_submission_that_a_busy_machine_left_ungraded_is_graded_by_the_next_run():
    words = f"{UNGRADED}: the grading process ended with status 1 ({MachineOverloaded('x', '1 s')})"
    record = Record(submission="x", exercise="01", device=DeviceInfo("virtual", "h200"), verdict=UNGRADED)
    assert not class_run._may_succeed_later(record)
    record.flags.append(words)
    assert class_run._may_succeed_later(record)
