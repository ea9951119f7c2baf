"""Work for a notebook done in another process: the notebook's own never loads a student's code.

The process gets each order as a line of JSON and answers in lines of JSON: how far it is, then what it found
or a sentence that says why it could not. It waits for the next order afterwards, for starting it takes longer
than most errands, and ends when this process closes its end of the pipe, however that comes about.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.core.process import kill_session
from grader.words.text import one_line

_MODULE = "grader.notebook.errand_process"
_MOST_ANSWER = 64 << 20
_MOST_WORDS = 4096
IDLE_EXIT = 0  # the status of a process that got no order for long


def run_errand(
    name: str, arguments: Mapping[str, Any], folder: Path, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The answer of one errand. Files in its messages are named as seen from `folder`."""
    order = json.dumps({"errand": name, "arguments": dict(arguments)}) + "\n"
    setting = _Setting.now(folder)
    process = _waiting.take(setting)
    try:
        answer = process.ask(order, tell) if process is not None else None
        if process is not None and answer is None and process.ending() == IDLE_EXIT:
            process.end()
            process = None
        if process is None:
            process = _Process(setting)
            answer = process.ask(order, tell)
    except BaseException:  # an interrupt, most often: what was begun is not worth waiting for
        if process is not None:
            process.end()
        raise
    if answer is None:
        words = process.last_words()
        process.end()
        raise CourseError(f"the grader stopped before it had an answer{words}")
    _waiting.keep(process)
    if "error" in answer:
        raise CourseError(str(answer["error"]))
    found: dict[str, Any] = answer["answer"]
    return found


class _Setting(tuple[Any, ...]):
    """All that a process takes from the notebook when it starts: errands of another setting need another."""

    @staticmethod
    def now(folder: Path) -> _Setting:
        return _Setting((os.getpid(), _MODULE, folder, {**os.environ, "PYTHONPATH": _python_path()}))


class _Process:
    """Does errands, one after the other."""

    def __init__(self, setting: _Setting) -> None:
        self.setting = setting
        _, module, folder, environment = setting
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._said_before = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=folder,
            env=environment,
            start_new_session=True,  # the notebook's interrupt is for the notebook: it ends this in turn
        )

    def ask(self, order: str, tell: Callable[[str], None]) -> dict[str, Any] | None:
        """None when it ended before it had an answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._said_before = os.fstat(self._said.fileno()).st_size
        try:
            self._process.stdin.write(order.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        while line := self._process.stdout.readline(_MOST_ANSWER):
            try:
                message = json.loads(line)
            except ValueError:
                return None  # cut short: it died, or there was more than anybody could look at
            if "tell" not in message:
                return dict(message)
            tell(str(message["tell"]))
        return None

    def ending(self) -> int | None:
        """The status of a process that closed its end, or None for one that did so and lives."""
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """Of what it printed during the last errand."""
        self.ending()
        size = os.fstat(self._said.fileno()).st_size
        began = max(self._said_before, size - _MOST_WORDS)
        lines = os.pread(self._said.fileno(), size - began, began).decode(errors="replace").strip()
        return f": {one_line(lines.splitlines()[-1], 300)}" if lines else ""

    def end(self) -> None:
        kill_session(self._process.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # what it had not read
                pass


class _Waiting:
    """At most one process that waits for an order."""

    def __init__(self) -> None:
        self._kept: list[_Process] = []

    def take(self, setting: _Setting) -> _Process | None:
        """One that was started in this setting; another is of no use any more."""
        try:
            process = self._kept.pop()
        except IndexError:
            return None
        if process.setting == setting:
            return process
        self._end(process)
        return None

    def keep(self, process: _Process) -> None:
        self._kept.append(process)
        while len(self._kept) > 1:  # two threads of a notebook have had errands at once
            self._end(self._kept.pop(0))

    def end(self) -> None:
        while self._kept:
            self._end(self._kept.pop())

    @staticmethod
    def _end(process: _Process) -> None:
        if process.setting[0] == os.getpid():  # a fork of the notebook leaves its parent's alone
            process.end()


_waiting = _Waiting()
atexit.register(_waiting.end)


def _python_path() -> str:
    """The course is not installed: it runs from its folder."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(part for part in (str(REPOSITORY), inherited) if part)
