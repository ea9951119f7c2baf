"""Calls from a notebook to a grader process: the notebook's own process never loads a student's code.

A request is one line of JSON. The process answers in lines of JSON: progress, then the result or an error
sentence. It then waits for the next request, because starting a process takes longer than most requests. It
ends when this process closes its end of the pipe, for whatever reason.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.core.process import kill_session
from common.core.progress import Notify
from grader.words.text import one_line

_MODULE = "grader.notebook.rpc_process"
_MOST_ANSWER = 64 << 20
_MOST_WORDS = 4096
IDLE_EXIT = 0  # the exit status of a process that has had no request for IDLE_EXIT_SECONDS


def call_grader(name: str, arguments: Mapping[str, Any], folder: Path, notify: Notify) -> dict[str, Any]:
    """The result of one request. Messages name files relative to `folder`."""
    request = json.dumps({"method": name, "arguments": dict(arguments)}) + "\n"
    setting = _Setting.now(folder)
    process = _waiting.take(setting)
    try:
        answer = process.send(request, notify) if process is not None else None
        if process is not None and answer is None and process.ending() == IDLE_EXIT:
            process.end()
            process = None
        if process is None:
            process = _Process(setting)
            answer = process.send(request, notify)
    except BaseException:  # most often an interrupt: do not wait for the result
        if process is not None:
            process.end()
        raise
    if answer is None:
        last_line = process.last_line()
        process.end()
        raise CourseError(f"the grader stopped before it had an answer{last_line}")
    _waiting.keep(process)
    if "error" in answer:
        raise CourseError(str(answer["error"]))
    found: dict[str, Any] = answer["answer"]
    return found


class _Setting(tuple[Any, ...]):
    """All that a process inherits when it starts; a request in another setting needs another process."""

    @staticmethod
    def now(folder: Path) -> _Setting:
        return _Setting((os.getpid(), _MODULE, folder, {**os.environ, "PYTHONPATH": _python_path()}))


class _Process:
    """A grader process; it serves one request at a time."""

    def __init__(self, setting: _Setting) -> None:
        self.setting = setting
        _, module, folder, environment = setting
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._stderr_start = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,  # an interrupt goes to the notebook alone, which ends this process
        )

    def send(self, request: str, notify: Notify) -> dict[str, Any] | None:
        """The answer, or None when the process ended before it had one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stderr_start = os.fstat(self._stderr.fileno()).st_size
        try:
            self._process.stdin.write(request.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        while line := self._process.stdout.readline(_MOST_ANSWER):
            try:
                message = json.loads(line)
            except ValueError:
                return None  # cut short: the process died, or the answer exceeds _MOST_ANSWER
            if "progress" not in message:
                return dict(message)
            notify(str(message["progress"]))
        return None

    def ending(self) -> int | None:
        """The exit status of a process that closed its pipe; None while it still runs."""
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return None

    def last_line(self) -> str:
        """The last line that it printed during the last request, after a colon; empty if it printed none."""
        self.ending()
        size = os.fstat(self._stderr.fileno()).st_size
        began = max(self._stderr_start, size - _MOST_WORDS)
        lines = os.pread(self._stderr.fileno(), size - began, began).decode(errors="replace").strip()
        return f": {one_line(lines.splitlines()[-1], 300)}" if lines else ""

    def end(self) -> None:
        kill_session(self._process.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # a request that it had not read
                pass


class _Waiting:
    """At most one process that waits for a request."""

    def __init__(self) -> None:
        self._kept: list[_Process] = []

    def take(self, setting: _Setting) -> _Process | None:
        """The process if it was started in this setting; one of another setting is ended."""
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
        while len(self._kept) > 1:  # two threads of a notebook called at once
            self._end(self._kept.pop(0))

    def end(self) -> None:
        while self._kept:
            self._end(self._kept.pop())

    @staticmethod
    def _end(process: _Process) -> None:
        if process.setting[0] == os.getpid():  # a fork of the notebook must not end its parent's process
            process.end()


_waiting = _Waiting()
atexit.register(_waiting.end)


def _python_path() -> str:
    """With the repository first: the course is not installed, it runs from its folder."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(part for part in (str(REPOSITORY), inherited) if part)
