"""One process serves a notebook's requests, waits for the next and ends with the notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.notebook import rpc
from tests.virtual_gpu.small_programs import children_of, is_running
from tests.waiting import LONG, wait_until

# A server for tests: {"say": …} makes it answer, {"end": N} makes it exit with a status.
TEST_SERVER = """
import json, os, sys
for line in sys.stdin:
    arguments = json.loads(line)["arguments"]
    if "end" in arguments:
        print(arguments.get("words", ""), file=sys.stderr, flush=True)
        os._exit(arguments["end"])
    print(json.dumps({"answer": {"said": arguments["say"], "pid": os.getpid()}}), flush=True)
    if arguments.get("leave"):
        os._exit(0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "test_server.py").write_text(TEST_SERVER)
    monkeypatch.setattr(rpc, "_MODULE", "test_server")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield tmp_path
    rpc._waiting.end()


def sent(folder: Path, **arguments: object) -> int:
    """The number of the process that answered."""
    found = rpc.call_grader("say", {"say": "yes", **arguments}, folder, lambda text: None)
    assert found["said"] == "yes"
    return int(found["pid"])


def test_the_same_process_serves_the_next_request(folder: Path):
    assert sent(folder) == sent(folder)


def test_another_folder_or_environment_takes_another_process(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    first = sent(folder)
    second = sent(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setenv("COURSE_DEVICE", "virtual")
    third = sent(folder)
    assert len({first, second, third}) == 3
    assert not is_running(first)
    assert not is_running(second)


def test_a_process_that_exited_while_idle_is_replaced(folder: Path):
    assert sent(folder, leave=True) != sent(folder)


def test_a_process_that_dies_fails_one_request_and_its_last_line_is_shown(folder: Path):
    first = sent(folder)
    with pytest.raises(CourseError, match="before it had an answer: out of memory$"):
        sent(folder, end=9, words="out of memory")
    with pytest.raises(CourseError, match="before it had an answer$"):
        sent(folder, end=9)
    assert sent(folder) != first


def test_the_real_one_does_many_and_ends_with_the_notebook(tmp_path: Path):
    script = """
import os
from pathlib import Path
from common.core.errors import CourseError
from grader.notebook.rpc import call_grader, _waiting
for _ in range(2):
    try:
        call_grader("check", {"exercise": "99", "file": "kernel.cu"}, Path.cwd(), print)
    except CourseError as problem:
        print(problem)
    print(*[process._process.pid for process in _waiting._kept])
os._exit(0)  # as a kernel that is killed: nothing is tidied up
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )
    first, pid, second, again = ran.stdout.splitlines()
    assert "there is no exercise '99'" in first
    assert (first, pid) == (second, again)
    assert wait_until(lambda: not is_running(int(pid)))


def test_nothing_is_left_waiting_when_python_ends(folder: Path):
    pid = sent(folder)
    assert pid in children_of(os.getpid())
    rpc._waiting.end()
    assert not is_running(pid)
