"""Sessions for Python files on a CUDA device: the file replaces the native library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from common.core.errors import CourseError
from common.gpu.support import library_path
from common.worker.process import Order, Worker, WorkerDied, WorkerMisbehaved, WorkerTimeout
from common.worker.python_launch import SCRIPT, on_gpu
from grader.devices.failures import CallFailed
from grader.devices.on_gpu.session import GpuSession
from grader.python_track.calls import explained, python_call
from grader.python_track.cpu import RAISES
from grader.spec import Call, PythonTrack


class PythonGpuSession(GpuSession):
    """The harness owns memory and clock, as in every session; tensors are views of that memory."""

    problem_word = RAISES
    has_steps = False

    def __init__(self, source: Path, track: PythonTrack) -> None:
        super().__init__(source)
        self._track = track
        self._threads_before = 0

    @property
    def threads(self) -> int:
        """Threads of torch itself, besides those of a native library."""
        return max(0, super().threads - self._threads_before)

    def order(
        self, entry: str, call: Call, address: Callable[[str], int], stream: int = 0, *, idle: bool = False
    ) -> Order:
        if idle:
            return Order(self._support, "do_nothing")
        order = python_call(self._track, call, lambda name, at: {"address": address(name) + at}, stream)
        return Order(self._library, self._track.function, ["python"], [order])

    def _load(self) -> Worker:
        worker = Worker(
            None,
            walls=on_gpu(),
            libraries=[library_path(), self._path],
            descriptors=self._memory.descriptors,
            script=SCRIPT,
        )
        self._support = worker.load(library_path())
        worker.call(self._support, "settle", [], [], 60.0)  # the driver's threads start here
        self._threads_before = worker.threads()
        try:
            self._library = worker.load(self._path)
        except (WorkerDied, WorkerMisbehaved, WorkerTimeout):
            raise
        except CourseError as problem:
            worker.close()
            raise CallFailed("load", str(explained(problem))) from problem
        return worker
