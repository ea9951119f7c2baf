"""Start an engine process and hold its trusted end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.build.engine.build import build_engine
from common.core.cpu_time import TimeLimit
from common.core.errors import CourseError
from common.core.process import status_text
from common.sandbox.policy import SYSTEM_LIBRARIES
from common.sandbox.walls import prepare
from common.sandbox.watchdog import Limits, Watchdog
from common.virtual_gpu.profiles import DEFAULT_PROFILE, PROFILES
from common.virtual_gpu.report import Report
from common.virtual_gpu.wire import EngineDied, Greeting, HarnessChannel, option_text

Options = Mapping[str, object]
_STOP_SECONDS = 5.0
_ANSWER_SECONDS = 120.0  # for a request: the program's may come first, and run kernels
# Beside its device's memory, counted twice (as a file, and mapped), an engine has tables for its checks.
_OWN_SHARE, _OWN_BYTES = 3, 1 << 30
_SETTLE_SECONDS = 30.0  # it may have to leave a kernel first
_MOST_WORDS = 1 << 16


# What the walls around the engine let through (common/sandbox/walls.py): no file, no socket, no process.
_ENGINE_POLICY = {"threads": True}
_TOOLS = ("/bin", "/usr/bin", "/usr/local/bin")


def _helper_policy(lines_from: Sequence[Path]) -> dict[str, Any]:
    """For the helper that runs addr2line on the program's files."""
    files = [str(path.absolute()) for path in lines_from]
    return {"read": [*SYSTEM_LIBRARIES, *_TOOLS, *files], "devices": ["/dev/null"], "children": True}


class Engine:
    """An engine and the socket at which one program may reach it.

    The engine ends by itself when this process does, however that comes about: its end of the harness's
    socket closes then.
    """

    def __init__(
        self,
        profile: str = DEFAULT_PROFILE,
        options: Options | None = None,
        resources: Path | None = None,
        lines_from: Sequence[Path] = (Path("/"),),
        memory_bytes: int | None = None,
    ) -> None:
        """`options` are the engine's, such as {"race": False, "max_seconds": 5}.

        `resources` is the JSON file of write_for_engine: ptxas figures, for true register counts. Lines of
        host code are looked up in files below `lines_from` alone. The engine itself opens no file once it
        serves its program. `memory_bytes` is what its device offers; without it, what this machine can spare.
        With it, an engine that takes much more for itself is ended.
        """
        paths = build_engine()
        self.runtime = paths.runtime
        self._stderr = os.memfd_create("vgpu-engine-stderr", os.MFD_CLOEXEC)
        self.program, program_end = socket.socketpair()
        harness, harness_end = socket.socketpair()
        command = [str(paths.engine), "--program-fd", str(program_end.fileno())]
        command += ["--harness-fd", str(harness_end.fileno())]
        command += ["--profiles", str(PROFILES), "--profile", profile]
        command += ["--resources", str(resources)] if resources is not None else []
        command += ["--memory-limit", str(memory_bytes)] if memory_bytes is not None else []
        for key, value in (options or {}).items():
            command += ["--option", f"{key}={option_text(value)}"]
        walls = [*prepare(_ENGINE_POLICY), *prepare(_helper_policy(lines_from))]
        command += ["--walls", f"{walls[0]},{walls[1]}", "--helper-walls", f"{walls[2]},{walls[3]}"]
        passed = [descriptor for descriptor in walls if descriptor >= 0]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=(program_end.fileno(), harness_end.fileno(), *passed),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,
            )
        except BaseException:
            self.program.close()
            harness.close()
            os.close(self._stderr)
            raise
        finally:
            program_end.close()
            harness_end.close()
            for descriptor in passed:
                os.close(descriptor)
        self._watchdog: Watchdog | None = None
        if memory_bytes is not None:
            self._watchdog = Watchdog(self.pid, Limits(memory_bytes=_OWN_SHARE * memory_bytes + _OWN_BYTES))
        self.channel = HarnessChannel(harness, lambda: TimeLimit(_ANSWER_SECONDS, lambda: [self.pid]))
        self.report_seconds = 0.0  # that reports took so far
        self.greeting: Greeting | None = None
        self.greeting = self._greet()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL has ended it, and nobody here sent that: this machine did, or a person."""
        if self._watchdog is not None and self._watchdog.reason is not None:
            return False
        return self._status() == -signal.SIGKILL

    @property
    def pinned_descriptor(self) -> int:
        """Of the memory that the program shares with the engine."""
        assert self.greeting is not None, "the engine is closed"
        return self.greeting.pinned_descriptor

    def report(self) -> Report:
        waiting = TimeLimit(_ANSWER_SECONDS, lambda: [self.pid])
        try:
            text = self.channel.report(waiting)
        except EngineDied as problem:
            raise self.explain(problem) from problem
        finally:
            self.report_seconds += waiting.used
        return Report.from_json(text)

    def settled_report(self) -> Report:
        """The report once the engine has read all that its program sent before it went."""
        limit = TimeLimit(_SETTLE_SECONDS, lambda: [self.pid])
        while True:
            report = self.report()
            if report.program_exit != "running" or limit.over():
                return report
            time.sleep(0.002)

    def explain(self, problem: EngineDied) -> EngineDied:
        """The same, with how the engine ended and what it said last."""
        status = self._status()
        ending = "" if status is None else f"; it ended with {status_text(status)}"
        if self._watchdog is not None and self._watchdog.reason is not None:
            ending = f"; it {self._watchdog.reason} and was ended"
        return EngineDied(f"{problem}{ending}{self._last_words()}")

    def _status(self) -> int | None:
        """With which it has ended. It closes its sockets a moment before."""
        try:
            return self._process.wait(_STOP_SECONDS if self.channel.gone else 0)
        except subprocess.TimeoutExpired:
            return None

    def said(self) -> str:
        """What the engine has printed for the user, such as work that was never waited for."""
        return os.pread(self._stderr, _MOST_WORDS, 0).decode(errors="replace")

    def close(self) -> None:
        """End the engine. What it made in shared memory goes with it, once no view is left."""
        self.program.close()
        self.channel.close()
        if self._watchdog is not None:
            self._watchdog.stop()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            ours = [self._stderr] if self._stderr >= 0 else []
            if self.greeting is not None:
                ours += [self.greeting.device_descriptor, self.greeting.pinned_descriptor]
            for descriptor in ours:
                os.close(descriptor)
            self._stderr, self.greeting = -1, None

    def _greet(self) -> Greeting:
        try:
            return self.channel.hello()
        except EngineDied as problem:
            self._status()
            words = self._last_words() or ("" if self.channel.gone else f": {problem}")
            self.close()
            raise CourseError(f"the virtual GPU did not start{words}") from None
        except BaseException:
            self.close()
            raise

    def _last_words(self) -> str:
        text = self.said().strip()
        return f": {text}" if text else ""
