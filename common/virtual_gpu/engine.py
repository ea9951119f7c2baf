"""Start an engine process and hold its trusted end."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from common.build.engine.build import build_engine
from common.core.cpu_time import TimeLimit
from common.core.errors import CourseError
from common.core.process import status_text
from common.virtual_gpu.profiles import DEFAULT_PROFILE, PROFILES
from common.virtual_gpu.report import Report
from common.virtual_gpu.wire import EngineDied, Greeting, HarnessChannel, option_text

Options = Mapping[str, object]
_STOP_SECONDS = 5.0
_ANSWER_SECONDS = 120.0  # for a request: the program's may come first, and run kernels
_SETTLE_SECONDS = 30.0  # it may have to leave a kernel first
_MOST_WORDS = 1 << 16


class Engine:
    """An engine and the socket at which one program may reach it.

    The engine ends by itself when this process does, however that comes about: its end of the harness's
    socket closes then.
    """

    def __init__(
        self, profile: str = DEFAULT_PROFILE, options: Options | None = None, resources: Path | None = None
    ) -> None:
        """`options` are the engine's, such as {"race": False, "max_seconds": 5}.

        `resources` is a JSON file of ptxas figures by mangled kernel name, for true register counts.
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
        for key, value in (options or {}).items():
            command += ["--option", f"{key}={option_text(value)}"]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=(program_end.fileno(), harness_end.fileno()),
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
        self.channel = HarnessChannel(harness, lambda: TimeLimit(_ANSWER_SECONDS, lambda: [self.pid]))
        self.report_seconds = 0.0  # that reports took so far
        self.greeting: Greeting | None = None
        self.greeting = self._greet()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

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
        try:
            status: int | None = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        ending = "" if status is None else f"; it ended with {status_text(status)}"
        return EngineDied(f"{problem}{ending}{self._last_words()}")

    def said(self) -> str:
        """What the engine has printed for the user, such as work that was never waited for."""
        return os.pread(self._stderr, _MOST_WORDS, 0).decode(errors="replace")

    def close(self) -> None:
        """End the engine. What it made in shared memory goes with it, once no view is left."""
        self.program.close()
        self.channel.close()
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
        except EngineDied:
            self._process.wait()
            words = self._last_words()
            self.close()
            raise CourseError(f"the virtual GPU did not start{words}") from None
        except BaseException:
            self.close()
            raise

    def _last_words(self) -> str:
        text = self.said().strip()
        return f": {text}" if text else ""
