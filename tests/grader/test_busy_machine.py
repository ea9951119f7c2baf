"""On a machine that is loaded five times over, nothing that is right fails for its time."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.core.cpu_time import ProcessClock, threads_of
from common.core.errors import MachineOverloaded
from common.worker.process import Worker, WorkerTimeout
from grader.classes import class_run
from grader.classes.class_run import UNGRADED
from grader.devices import time_budget
from grader.devices.session import Outcome
from grader.devices.virtual import VirtualSession
from grader.pipeline.libraries import Libraries, compile_submission
from grader.pipeline.stages import speed_virtual
from grader.pipeline.stages.correctness import CaseRun
from grader.pipeline.stages.task import run_on
from grader.records.record import DeviceInfo, Record
from grader.spec import Exercise, registry
from grader.spec.random_inputs import Random
from tests.common.test_cpu_time import crowd

CASE = "4,096 tokens, 8 × 128"  # about 0.15 s of the engine's own time
LIMIT = 0.4


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """01 with one case, and that a large one."""
    torch.set_num_threads(1)  # as in grading
    whole = registry.find("01")
    return dataclasses.replace(whole, cases=(whole.bench_case(CASE),), hidden=lambda rng: (), steps=())


@pytest.fixture(scope="module")
def built(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    return compile_submission(exercise.solution, "virtual", tmp_path_factory.mktemp("built"))


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(time_budget, "CALL_SECONDS", LIMIT)
    monkeypatch.setattr(time_budget, "_LEAST_SECONDS", LIMIT)
    with crowd(5 * len(os.sched_getaffinity(0))):
        yield


def run(exercise: Exercise, built: Libraries) -> CaseRun:
    ((found,), _) = run_on(
        "virtual",
        exercise,
        built,
        "secret",
        quick=True,
        tell=lambda text: None,
        budget=time_budget.TimeBudget(1.2),
    )
    return found


@pytest.mark.skipif(threads_of(os.getpid()) is None, reason="this kernel writes nothing down about waits")
def test_a_right_kernel_passes_where_a_wall_clock_would_fail_it(
    exercise: Exercise, built: Libraries, little_time: None, monkeypatch: pytest.MonkeyPatch
):
    found = run(exercise, built)
    assert found.result.passed, found.result
    waited = found.result.seconds - sum(outcome.seconds for outcome in found.outcomes)
    if waited < 4 * LIMIT:  # a machine with more cores than the crowd can fill
        pytest.skip("this machine has no load to speak of")
    monkeypatch.setattr(ProcessClock, "seconds", lambda clock: time.monotonic() - clock._at)
    assert run(exercise, built).result.reason in ("timeout", "too long"), "or this machine has no load"


@pytest.mark.parametrize("times", [1, 2])
def test_a_call_that_was_starved_is_made_once_more(
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
    with built.session("virtual") as session:
        if times == 1:
            assert session.run(exercise.entry, call, 20.0).ok
        else:
            with pytest.raises(MachineOverloaded, match=r"too busy: \w+ got only 0.1 s of CPU time"):
                session.run(exercise.entry, call, 20.0)


@pytest.mark.parametrize("times", [1, 2])
def test_a_baseline_out_of_time_is_run_again_and_then_blamed_on_the_machine(
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
