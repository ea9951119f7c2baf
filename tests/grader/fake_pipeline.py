"""A grading that does at once what a comment in the submission says, in place of the real one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common.core.proc import all_processes
from grader.records.device_info import DeviceInfo
from grader.records.record import (
    CaseResult,
    MechanismResult,
    PartResult,
    Record,
    Speed,
    SpeedCase,
    TargetResult,
)
from grader.spec import Exercise

SEED = "5eed5eed5eed5eed"


def grade(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: DeviceInfo | str,
    seed: str | None = None,
    stages: object = None,
    quick: bool = False,
    step: int | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> Record:
    notify("looking at it")
    kind = device if isinstance(device, str) else device.kind
    text = source.read_text()
    for word, action in _ACTIONS.items():
        if f"// {word}" in text:
            action(text)
    return make_record(submission, exercise.id, text, kind, seed or SEED, right="// wrong" not in text)


def _leave_an_orphan(text: str) -> None:
    """A process in a session of its own, whose number goes to the file the submission names."""
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(text.split("orphan: ")[1].split()[0]).write_text(str(sleeper.pid))
    os.kill(os.getpid(), 9)


def _end_the_worker(text: str) -> None:
    """Of a cluster: it started the server that started the process which forked this one."""
    pid = os.getpid()
    for _ in range(3):
        pid = next(process.parent for process in all_processes() if process.pid == pid)
    os.kill(pid, 9)
    time.sleep(60)


def _say_so(text: str) -> None:
    """Leave one more mark in the file the submission names: that it was graded."""
    with open(text.split("mark: ")[1].split()[0], "a") as file:
        file.write("x")


def _fail(text: str) -> None:
    raise RuntimeError("the grader itself is broken")


def _fail_once(text: str) -> None:
    """The first time; then the file that the submission names is there."""
    mark = Path(text.split("stumble: ")[1].split()[0])
    if not mark.exists():
        mark.touch()
        _fail(text)


_ACTIONS: dict[str, Callable[[str], None]] = {
    "mark": _say_so,
    "slow": lambda text: time.sleep(1.5),
    "hang": lambda text: time.sleep(600),
    "die": lambda text: os.kill(os.getpid(), 9),
    "fail": _fail,
    "stumble": _fail_once,
    "orphan": _leave_an_orphan,
    "end the worker": _end_the_worker,
}


def make_record(
    submission: str = "alice",
    exercise: str = "01_first",
    source: str = "line one\nline two\n",
    device: str = "virtual",
    seed: str = SEED,
    *,
    right: bool = True,
) -> Record:
    """A whole record, with something in every field."""
    speed = Speed(
        modelled=device == "virtual",
        cases=[
            SpeedCase("64 tokens", {"tokens": 64}, 4e-6, 2.5e-6, 1.6, 1.5, 1.7, 1 << 18, "latency limits"),
            SpeedCase(
                "4096 tokens", {"tokens": 4096}, 13e-6, 10e-6, 1.3, 1.25, 1.35, 1 << 24, "memory limits"
            ),
        ],
        targets=[
            TargetResult(
                "speedup over the baseline, 7 cases",
                "met",
                1.0,
                1.0,
                1.44,
                1.4,
                1.5,
                1.15,
                1.4,
                "over 2 shapes",
            )
        ],
        copy_bandwidth=4e12,
        notes=["took 1 s"],
    )
    cases = [
        CaseResult("one token", True, {"tokens": 1}, True, seconds=0.01),
        CaseResult(
            "hidden 1", False, {"tokens": 77}, right, "" if right else "mismatch", "" if right else "off"
        ),
    ]
    counters = {"global_load_requests": 8, "global_load_sectors": 32, "warp_instructions": 100}
    finding = {
        "kind": "race",
        "message": "thread (0,0,0) writes tile while thread (0,1,0) may still read it",
        "advice": "Put __syncthreads() between the two accesses.",
        "place": [{"file": "/somewhere/kernel.cu", "line": 2, "function": ""}],
        "block": [0, 0, 0],
        "thread": None,
        "count": 3,
        "file": "/somewhere/kernel.cu",
        "line": 2,
    }
    return Record(
        submission=submission,
        exercise=exercise,
        device=DeviceInfo(device, "h200", compiler="nvcc 13.0"),
        verdict="full marks" if right else "wrong answer",
        points=10.0 if right else 3.0,
        max_points=10.0,
        parts=[
            PartResult("correct", 5.0 if right else 3.0, 5.0, "2 of 2 cases passed"),
            PartResult("speed", 5.0 if right else 0.0, 5.0, ""),
        ],
        cases=cases,
        mechanisms=[MechanismResult("1 launch", True)],
        findings=[] if right else [finding],
        lines=[{"file": "/somewhere/kernel.cu", "line": 1, "counters": counters}],
        launches=[{"kernel": "k(int)", "grid": [2, 1, 1], "block": [32, 1, 1], "counters": counters}],
        speed=speed if right else None,
        output="hello\n",
        source=source,
        source_sha256=hashlib.sha256(source.encode()).hexdigest(),
        seed=seed,
        started="2026-01-01T00:00:00+00:00",
        seconds=1.0,
    )
