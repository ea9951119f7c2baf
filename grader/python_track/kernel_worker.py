"""The worker that runs a file's Triton kernels, apart from the file's other code."""

from __future__ import annotations

import importlib.util
import socket
import tempfile
from pathlib import Path

from common.core.errors import CourseError
from common.worker.process import Order, Worker
from common.worker.python_launch import KERNELS, interpreted, with_launches
from grader.devices.failures import CallFailed
from grader.python_track.calls import explained
from grader.python_track.kernels_alone import NoKernel, kernels_alone

_SECONDS = 30.0


class Kernels:
    """The kernels of `source`; `file` is the memory of the tensors."""

    def __init__(self, source: Path, file: int) -> None:
        self._source, self._file = source, file
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._worker: Worker | None = None
        self._library = -1

    def new_call(self) -> None:
        """A call begins: in the one before, a kernel may have failed, after which nothing is launched."""
        if self._worker is not None:
            self._worker.calls([Order(self._library, "new_call", [], [])], "a new call", _SECONDS)

    @property
    def pids(self) -> list[int]:
        return self._worker.pids if self._worker is not None else []

    def start(self) -> int:
        """A descriptor over which another process may launch them. Raises CallFailed."""
        try:
            text = kernels_alone(self._source.read_text())
        except NoKernel as problem:
            raise CallFailed("load", f"{self._source.name}:{problem.line}: {problem}") from problem
        except (SyntaxError, ValueError, RecursionError):
            text = ""  # which the other worker says, with the line
        ours, theirs = socket.socketpair()
        if importlib.util.find_spec("triton") is None:  # then nothing can be launched
            ours.close()
            return theirs.detach()
        self._folder = tempfile.TemporaryDirectory(prefix="course-kernels-")
        path = Path(self._folder.name) / "kernels.py"
        path.write_text(text)
        walls = with_launches(interpreted(), ours.fileno(), self._file)
        descriptors = [self._file, ours.fileno()]
        with ours:
            self._worker = Worker(
                None, walls=walls, libraries=[path], descriptors=descriptors, script=KERNELS
            )
        try:
            self._library = self._worker.load(path)
        except CourseError as problem:
            theirs.close()
            message = str(explained(problem)).replace(str(path), self._source.name)
            raise CallFailed("load", message) from problem
        return theirs.detach()

    def close(self) -> float:
        """End the worker; the CPU time that orders to it took."""
        spent = 0.0
        if self._worker is not None:
            spent = self._worker.seconds
            self._worker.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._worker = self._folder = None
        return spent
