"""An engine that does not answer is given up at a limit, whatever it was asked; the call has its verdict."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from common.build.program import Target
from common.core.cpu_time import TimeLimit
from common.core.errors import CourseError
from common.virtual_gpu import engine
from common.virtual_gpu.engine import Engine
from common.virtual_gpu.wire import EngineDied, HarnessChannel
from grader.building.build import build
from grader.devices.on_virtual.session import VirtualSession
from grader.spec import seeds
from grader.spec.random_inputs import Random
from tests.grader.stepped_exercise import EXERCISE, SOLUTION
from tests.waiting import LONG

SECONDS = 1.0
# What it is asked when it falls silent, and the reason of the call.
ASKED = {
    "allocate": "device",
    "begin_call": "device",
    "end_call": "device",
    "synchronise": "timeout",
    "report": "device",
}


@pytest.fixture(scope="module")
def library() -> Path:
    built = build(SOLUTION, Target.virtual("90"))
    assert built.library is not None, built.message
    return built.library


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_ANSWER_SECONDS", SECONDS)
    monkeypatch.setattr(engine, "_STOP_SECONDS", SECONDS)


@pytest.mark.parametrize("asked", ASKED)
def test_a_call_whose_engine_falls_silent_has_a_verdict(asked: str, library: Path, monkeypatch):
    call = EXERCISE.inputs(EXERCISE.cases[1].size, Random(seeds.fresh()))
    with VirtualSession(library) as session:
        ask = getattr(HarnessChannel, asked)

        def stop_first(channel: HarnessChannel, *arguments: Any) -> Any:
            assert session._gpu is not None
            os.kill(session._gpu._engine.pid, signal.SIGSTOP)
            return ask(channel, *arguments)

        monkeypatch.setattr(HarnessChannel, asked, stop_first)
        began = time.monotonic()
        outcome = session.run(EXERCISE.entry, call, SECONDS)
        assert outcome.reason == ASKED[asked], outcome.message
        assert time.monotonic() - began < LONG
        monkeypatch.setattr(HarnessChannel, asked, ask)
        assert session.run(EXERCISE.entry, call, LONG).ok, "the next call has a new engine"


def test_an_engine_that_is_silent_from_the_start_is_given_up(monkeypatch: pytest.MonkeyPatch):
    greet, started = Engine._greet, []

    def stop_first(one: Engine) -> Any:
        started.append(one)
        os.kill(one.pid, signal.SIGSTOP)
        return greet(one)

    monkeypatch.setattr(Engine, "_greet", stop_first)
    with pytest.raises(CourseError, match="the virtual GPU did not start: .* does not answer HELLO"):
        Engine()
    assert started[0]._process.returncode is not None, "it is ended"


def test_a_request_that_nobody_reads_is_given_up():
    """Larger than what the socket holds: to send it takes a reader."""
    ours, theirs = socket.socketpair()
    channel = HarnessChannel(ours, lambda: TimeLimit(SECONDS, lambda: [os.getpid()]))
    began = time.monotonic()
    with theirs, pytest.raises(EngineDied, match="does not answer HARNESS_ALLOC"):
        channel.allocate("a" * (16 << 20), 4, 4)
    channel.close()
    assert time.monotonic() - began < LONG
