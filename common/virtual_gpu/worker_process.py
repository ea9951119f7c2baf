"""The parent's side of the worker: start it, give it orders, notice when it dies or hangs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import CourseError
from common.virtual_gpu.engine import status_text

_SCRIPT = Path(__file__).with_name("worker.py")
_START_SECONDS = 60.0
_MOST_OUTPUT = 1 << 20
# All that student code finds in its environment.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


class WorkerDied(CourseError):
    """The worker process ended in the middle of a call; `ending` is the signal's name or the status."""

    def __init__(self, what: str, ending: str) -> None:
        super().__init__(f"{what} ended its process with {ending}")
        self.ending = ending


class WorkerTimeout(CourseError):
    """A call in the worker process did not return in time; the process was killed."""


class Worker:
    """A process with student libraries in it, connected to an engine at `program`."""

    def __init__(self, program: socket.socket) -> None:
        self._output = os.memfd_create("vgpu-worker-output", os.MFD_CLOEXEC)
        self._control, theirs = socket.socketpair()
        descriptors = (program.fileno(), theirs.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT), str(theirs.fileno())],
            env={**_ENVIRONMENT, "VGPU_FD": str(program.fileno())},
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )
        theirs.close()
        program.close()
        self._received = b""
        self._finalizer = weakref.finalize(self, _end, self._process, self._control, self._output)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._finalizer()

    def load(self, path: Path) -> int:
        answer = self._order({"load": str(path.absolute())}, f"loading {path}", _START_SECONDS)
        if "problem" in answer:
            raise CourseError(f"{path} could not be loaded: {answer['problem']}")
        return int(answer["library"])

    def call(
        self, library: int, entry: str, types: Sequence[str], values: Sequence[int | float], timeout: float
    ) -> int:
        order = {"library": library, "entry": entry, "types": list(types), "values": list(values)}
        answer = self._order(order, entry, timeout)
        if "problem" in answer:
            raise CourseError(f'{answer["problem"]} in the library: declare it extern "C" and not static')
        return int(answer["returned"])

    def output(self) -> str:
        """What the libraries have printed; the end of it when it is long."""
        if self._output_closed():
            return ""
        size = os.fstat(self._output).st_size
        return os.pread(self._output, _MOST_OUTPUT, max(0, size - _MOST_OUTPUT)).decode(errors="replace")

    def _output_closed(self) -> bool:
        return not self._finalizer.alive

    def _order(self, order: dict[str, Any], what: str, timeout: float) -> dict[str, Any]:
        if self._output_closed():
            raise WorkerDied(what, "status 0: this virtual GPU has been closed, or an earlier call ended it")
        deadline = time.monotonic() + timeout
        try:
            self._control.settimeout(timeout)
            self._control.sendall(json.dumps(order).encode() + b"\n")
            while b"\n" not in self._received:
                self._control.settimeout(max(0.001, deadline - time.monotonic()))
                chunk = self._control.recv(1 << 16)
                if not chunk:
                    raise ConnectionResetError
                self._received += chunk
        except TimeoutError:
            self._process.kill()
            raise WorkerTimeout(
                f"{what} did not return within {timeout:g} s; its process was killed"
            ) from None
        except OSError:
            raise WorkerDied(what, status_text(self._wait())) from None
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _wait(self) -> int:
        try:
            return self._process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:  # it closed the socket but lives on: student code meddled
            self._process.kill()
            return self._process.wait()


def _end(process: subprocess.Popen[bytes], control: socket.socket, output: int) -> None:
    control.close()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    os.close(output)
