"""Grades one submission in its own process, so that a crash costs one record and not the run.

The processes are forked from a server that has done the heavy imports. Each leads its own session and ends
with the run that started it.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from common.core.cpu_time import TimeLimit
from common.core.death import adopt_orphans, ask_for_signal
from common.core.errors import CourseError
from common.core.proc import Stat, all_processes, descendants, tree_of
from common.virtual_gpu.memory_share import AT_ONCE
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec.registry import load

DEFAULT_GRADER = "grader.pipeline.grading:grade"
_PRELOADED = ["torch", "grader.pipeline.grading", "grader.classes.grading_process"]
_FOLDER_VARIABLES = ("COURSE_CACHE", "XDG_CACHE_HOME", "CUDA_HOME")
_PROGRAM_VARIABLES = ("COURSE_NVCC", "CXX")
_PROGRESS_BYTES = 300
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Job:
    """The task of a grading process. `grader` names the function, as module:function."""

    folder: Path  # the exercise's
    source: Path  # in the scratch folder
    submission: str
    device: DeviceInfo
    cpus: Collection[int]
    scratch: Path  # absolute: the process moves there
    at_once: int = 1  # gradings that run beside each other, this one included
    seed: str | None = None
    grader: str = DEFAULT_GRADER
    gpu: str = ""  # the number of the card; the first one when empty

    @property
    def record(self) -> Path:
        return self.scratch / "record.json"

    @property
    def log(self) -> Path:
        return self.scratch / "log.txt"


class GradingProcess:
    """The parent's view of a running grading. `limit` counts the time of all its processes."""

    def __init__(self, job: Job, seconds: float) -> None:
        self.job = job
        self.started = time.monotonic()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        _start_server()
        self._progress, progress = context.Pipe(duplex=False)
        self._process: BaseProcess = context.Process(
            target=_grade, args=(job, os.getpid(), progress), daemon=True
        )
        self._process.start()
        progress.close()
        self.limit = TimeLimit(seconds, lambda: tree_of(self._process.pid))

    @property
    def sentinel(self) -> int:
        """Becomes readable when the process has ended."""
        return self._process.sentinel

    @property
    def ended(self) -> bool:
        return not self._process.is_alive()

    @property
    def exitcode(self) -> int | None:
        return self._process.exitcode

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def latest_progress(self) -> str:
        """The newest progress sentence, empty when there is none since the last call."""
        text = ""
        with contextlib.suppress(EOFError, OSError):
            while self._progress.poll():
                text = self._progress.recv_bytes(_PROGRESS_BYTES * 4).decode(errors="replace")
        return text

    def kill(self) -> None:
        """Kill it and all its descendants: compilers, engine and worker lead their own sessions."""
        # The pid of a process that has ended may be reused by now.
        if not self.ended and self._process.pid is not None:
            _kill_tree(self._process.pid)
        self._process.join(_STOP_SECONDS)

    def close(self) -> None:
        self._progress.close()
        if self.ended:
            self._process.close()


def _start_server() -> None:
    """The server that forks gradings. It ignores Ctrl-C, which the run handles, from its first moment on: in
    the seconds in which it imports torch it would end with a traceback."""
    if threading.current_thread() is not threading.main_thread():
        forkserver.ensure_running()
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def _grade(job: Job, run: int, progress: Connection) -> None:
    """The process's main function. Its only result is the record in its scratch folder."""
    _end_with_the_run(run)
    os.sched_setaffinity(0, job.cpus)
    os.environ["OMP_NUM_THREADS"] = str(len(job.cpus))
    os.environ[AT_ONCE] = str(job.at_once)
    if job.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = job.gpu
    _log_to(job.log)
    _move_to(job.scratch)
    module, _, function = job.grader.partition(":")
    grade: Callable[..., Record] = getattr(importlib.import_module(module), function)
    try:
        record = grade(
            load(job.folder),
            job.source.relative_to(job.scratch),
            submission=job.submission,
            device=job.device,
            seed=job.seed,
            notify=lambda text: _send(progress, text),
        )
    except CourseError as problem:
        sys.exit(str(problem))  # the log's last line
    record.write(job.record)


def _move_to(folder: Path) -> None:
    """Findings and diagnostics name files relative to this folder: the student's is just kernel.cu."""
    for name in (*_FOLDER_VARIABLES, *_PROGRAM_VARIABLES):
        value = os.environ.get(name, "")
        # A program's name without a slash is searched for in PATH from any folder.
        if value and (name in _FOLDER_VARIABLES or "/" in value):
            os.environ[name] = os.path.abspath(value)
    os.chdir(folder)


def _end_with_the_run(run: int) -> None:
    """Lead a new session, and end with the server that forked us, which ends with the run."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run handles Ctrl-C
    ask_for_signal(signal.SIGKILL)
    try:
        os.kill(run, 0)
    except ProcessLookupError:
        os._exit(1)


def _log_to(path: Path) -> None:
    """Redirect output to a file: it would break the run's progress bar, and it explains a crash."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())


def _send(progress: Connection, text: str) -> None:
    # A run that does not read must not block the grading: it only misses progress.
    with contextlib.suppress(OSError):
        os.set_blocking(progress.fileno(), False)
        progress.send_bytes(text.encode(errors="replace")[:_PROGRESS_BYTES])


def last_line(job: Job) -> str:
    """The last line that a grading process printed: in a traceback, that is the error."""
    try:
        lines = job.log.read_bytes().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _kill_tree(root: int) -> None:
    """SIGKILL a process and all its descendants. Stops it first, so that it cannot start others meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [root, *descendants(root)] if number == signal.SIGKILL else [root]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


class Orphans:
    """Ends orphans: processes that dead gradings left running become children of this process.

    Gradings and all they start lead their own sessions, so a new child in another session is such an orphan.
    """

    def __enter__(self) -> Orphans:
        adopt_orphans(True)
        self._others = {process.pid for process in self._children()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        adopt_orphans(False)

    def end(self) -> None:
        for process in self._children():
            if process.pid not in self._others:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(process.pid, signal.SIGKILL)
                    os.waitpid(process.pid, 0)

    def _children(self) -> list[Stat]:
        mine, session = os.getpid(), os.getsid(0)
        return [
            process for process in all_processes() if process.parent == mine and process.session != session
        ]
