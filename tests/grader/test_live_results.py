"""Results come as they are known: in the order of the tasks, each once, and without waiting for ptxas."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from common.core.background import begin
from common.core.progress import Progress
from grader.building.build import Built
from grader.building.libraries import Libraries
from grader.cli.student.live import LiveResults
from grader.devices import device
from grader.pipeline.events import BuildDone, CaseDone, Event, InOrder, TaskDone
from grader.records.device_info import DeviceInfo
from grader.records.record import CaseResult, Record
from grader.render.check import report
from grader.spec import Exercise

RIGHT = CaseResult("one token", True, {"tokens": 1}, True, seconds=0.5)
WRONG = CaseResult("two tokens", True, {"tokens": 2}, False, "mismatch", "out[0] is 1, expected 2")
ERROR = {"severity": "error", "file": "/a/kernel.cu", "line": 7, "column": None, "message": "no such name"}


def test_events_of_a_later_task_wait_for_the_earlier_ones():
    heard: list[Event] = []
    in_order = InOrder(heard.append, 3)
    with in_order.part(2) as third:
        third(CaseDone("c", RIGHT, ()))
        with in_order.part(0) as first:
            with in_order.part(1) as second:
                second(TaskDone("b", [RIGHT]))
            first(CaseDone("a", RIGHT, ()))
            assert heard == [CaseDone("a", RIGHT, ())]
            first(TaskDone("a", [RIGHT]))
        assert heard[1:] == [TaskDone("a", [RIGHT]), TaskDone("b", [RIGHT]), CaseDone("c", RIGHT, ())]
        third(TaskDone("c", [RIGHT]))
        assert heard[-1] == TaskDone("c", [RIGHT])


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (BuildDone(False, 1.0, [ERROR]), "kernel.cu:7: error: no such name\n"),
        (BuildDone(True, 1.5, []), "built in 1.5 s\n"),
        (CaseDone("widths", WRONG, ()), "two tokens (tokens 2):\n  out[0] is 1, expected 2\n"),
        (CaseDone("widths", RIGHT, ()), ""),
        (TaskDone("widths", [RIGHT, RIGHT]), "widths: 2 cases right, 1 s\n"),
        (TaskDone("", [RIGHT, WRONG]), "the whole exercise: 1 case right, then one wrong, 500 ms\n"),
    ],
)
def test_each_event_is_printed_when_it_comes(capsys, event, words):
    LiveResults(Progress("checking"))(event)
    assert capsys.readouterr().out.endswith(words)


def test_what_was_shown_is_not_said_again_and_what_was_not_is(course_exercise):
    record = Record("yours", "01", DeviceInfo("virtual", "h200"), diagnostics=[ERROR], cases=[WRONG])
    all_of_it = report(course_exercise, record, [])
    assert "no such name" in all_of_it
    assert "out[0] is 1" in all_of_it
    rest = report(course_exercise, record, [], shown={BuildDone, CaseDone})
    assert "no such name" not in rest
    assert "out[0] is 1" not in rest
    assert "Correctness: FAILED" in rest


@pytest.fixture
def course_exercise() -> Exercise:
    from grader.spec import registry

    return registry.find("01")


@pytest.mark.parametrize("asks", [True, False])
def test_cases_wait_for_ptxas_only_where_host_code_asks_for_registers(monkeypatch, tmp_path, asks):
    wanted = {"cudaLaunchKernel", *(["cudaOccupancyMaxActiveBlocksPerMultiprocessor"] if asks else [])}
    monkeypatch.setattr(device, "needed_symbols", lambda library: wanted)
    figures: Future[tuple] = Future()
    (tmp_path / "library.so").touch()
    libraries = Libraries(Built(tmp_path / "library.so"), None, figures, tmp_path)
    session = begin(device.VirtualDevice().session, libraries)
    if asks:
        with pytest.raises(TimeoutError):
            session.result(0.2)
        figures.set_result(())
    session.result(10)


def test_a_failure_in_the_background_is_raised_when_the_result_is_read():
    started = threading.Event()

    def work(folder: Path) -> None:
        started.wait()
        raise ValueError(folder)

    future = begin(work, Path("x"))
    started.set()
    with pytest.raises(ValueError, match="x"):
        future.result(10)
