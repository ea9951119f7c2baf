"""What runs in a Dask worker: it passes orders on to grading servers, one for each thread of the worker."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus

TOPIC = "serving-kernels"  # of Dask's events, for progress
CACHE = "COURSE_CACHE"
_SILENT_SECONDS = 120.0  # a server says every five seconds that it is alive
_TICK_SECONDS = 0.5
_LAST_BYTES = 2000


class NodeFailed(CourseError):
    """A grading server ended or fell silent. That is the node's fault or the machine's."""


class _Server:
    """The worker's end of a grading server."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        # Each node builds for itself: what the course's folder has may be another machine's.
        environment.setdefault(CACHE, os.path.join(tempfile.gettempdir(), f"serving-kernels-{os.getuid()}"))
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.cluster.grading_server"],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            text=True,
        )
        self._replies: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._replies.put(json.loads(line))
        self._replies.put(None)

    def ask(
        self, what: str, order: dict[str, Any], says: Callable[[str], None], given_up: Callable[[], bool]
    ) -> dict[str, Any]:
        """The server's reply. Raises NodeFailed if it has none, or if nobody wants it any more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": what, "order": order}) + "\n")
            self._process.stdin.flush()
        except OSError as problem:
            raise self._ended() from problem
        heard = time.monotonic()
        while True:
            try:
                reply = self._replies.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                if given_up():
                    raise NodeFailed("the submitting machine does not want it any more") from None
                if time.monotonic() - heard > _SILENT_SECONDS:
                    raise NodeFailed(f"its grading server was silent for {_SILENT_SECONDS:.0f} s") from None
                continue
            heard = time.monotonic()
            if reply is None:
                raise self._ended()
            if "says" in reply:
                says(reply["says"])
            if "done" in reply:
                done: dict[str, Any] = reply["done"]
                return done

    def close(self) -> None:
        """End it and all that it runs: the gradings end with the server that forked them."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _ended(self) -> NodeFailed:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LAST_BYTES))
        last = self._log.read().decode(errors="replace").strip().rpartition("\n")[2]
        return NodeFailed("its grading server ended" + (f": {last}" if last else ""))


_idle: list[_Server] = []


@atexit.register
def _close_all() -> None:
    while _idle:
        _idle.pop().close()


def examine(order: dict[str, Any]) -> dict[str, Any]:
    """Whether this node grades such orders, with the reason where it does not."""
    return _asked("examine", order)


def grade(order: dict[str, Any]) -> dict[str, Any]:
    """One submission graded: its record. Run twice, it gives the same."""
    return _asked("grade", order)


def gpus() -> list[tuple[str, str]]:
    """Name and driver of each of this node's GPUs."""
    return [(gpu.name, gpu.driver) for gpu in find_gpus()]


def _asked(what: str, order: dict[str, Any]) -> dict[str, Any]:
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def given_up() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    def says(text: str) -> None:
        with contextlib.suppress(Exception):  # progress is worth no failure
            worker.log_event(TOPIC, {"key": key, "says": text})

    began = time.monotonic()
    server = _idle.pop() if _idle else _Server()
    try:
        reply = server.ask(what, order, says, given_up)
    except BaseException:
        server.close()
        raise
    _idle.append(server)
    return {**reply, "machine": socket.gethostname(), "seconds": time.monotonic() - began}
