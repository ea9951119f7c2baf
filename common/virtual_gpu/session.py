"""Run a program on a virtual GPU of its own and say what came of it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from common.core.cpu_time import TimeLimit
from common.core.death import end_with_parent
from common.core.errors import CourseError, MachineOverloaded
from common.core.process import session_members, status_text
from common.virtual_gpu.engine import Engine, Options
from common.virtual_gpu.places import shorten_places
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from common.virtual_gpu.report import Report

_TICK_SECONDS = 0.5
_BLIND_TICK_SECONDS = 0.01  # where the end of a process can only be polled for
_MOST_OUTPUT = 16 << 20

Output = int | IO[bytes] | None


@dataclass(frozen=True)
class RunReport:
    """How a program ended and what the engine saw of it. `status` is negative for a signal, as in subprocess.

    `stdout` and `stderr` hold text where they were asked for with subprocess.PIPE.
    """

    status: int
    seconds: float
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""
    report: Report = field(default_factory=Report)

    @property
    def ending(self) -> str:
        return "timed out" if self.timed_out else status_text(self.status)


def run_program(
    executable: Path | str,
    arguments: Sequence[str] = (),
    *,
    profile: str = DEFAULT_PROFILE,
    options: Options | None = None,
    resources: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    stdin: Output = None,
    stdout: Output = None,
    stderr: Output = None,
) -> RunReport:
    """Run `executable`, built for the virtual GPU, to its end.

    After `timeout` seconds, its own and the engine's, it is killed. Nothing it started in its process group
    outlives this call, and when this process is killed, program and engine go too. Raises EngineDied when
    the engine does not survive, and MachineOverloaded when the two do not get their time.
    """
    with Engine(profile, options, resources) as engine:
        started = time.monotonic()
        environment = dict(os.environ if env is None else env)
        environment["VGPU_FD"] = str(engine.program.fileno())
        parent = os.getpid()
        try:
            process = subprocess.Popen(
                [str(executable), *arguments],
                cwd=cwd,
                env=environment,
                pass_fds=(engine.program.fileno(),),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=lambda: end_with_parent(parent),
            )
        except OSError as problem:
            raise CourseError(f"{executable} cannot be run: {problem.strerror}") from problem
        engine.program.close()
        pipes = {
            name: pipe for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)) if pipe
        }
        collected = {name: bytearray() for name in pipes}
        limit = None
        if timeout is not None:
            limit = TimeLimit(timeout, lambda: [*session_members(process.pid), engine.pid])
        try:
            timed_out = not _wait(process, pipes, collected, limit)
        finally:
            _kill_group(process)
            seconds = time.monotonic() - started
            for name, pipe in pipes.items():
                _drain(pipe, collected[name])
                pipe.close()
        if limit is not None and limit.starved:
            raise MachineOverloaded(Path(executable).name, limit.got)
        report = engine.settled_report()
        if stderr is None and (words := engine.said()):
            print(words, end="", file=sys.stderr, flush=True)
    return RunReport(
        status=process.returncode,
        seconds=seconds,
        timed_out=timed_out,
        report=shorten_places(report, Path.cwd()),
        **{name: bytes(data).decode(errors="replace") for name, data in collected.items()},
    )


def _wait(
    process: subprocess.Popen[bytes],
    pipes: Mapping[str, IO[bytes]],
    collected: Mapping[str, bytearray],
    limit: TimeLimit | None,
) -> bool:
    """Collect output until the program itself ends; False when its time was up first.

    A child of it that keeps the pipes open does not hold this up.
    """
    with selectors.DefaultSelector() as selector:
        for name, pipe in pipes.items():
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, name)
        ended = _watch(process)
        if ended is not None:
            selector.register(ended, selectors.EVENT_READ, None)
        try:
            while process.poll() is None:
                if limit is not None and limit.over():
                    return False
                tick = _TICK_SECONDS if ended is not None else _BLIND_TICK_SECONDS
                for key, _ in selector.select(tick if limit is None else min(tick, limit.tick())):
                    if key.data is not None and not _drain(pipes[key.data], collected[key.data], 1 << 16):
                        selector.unregister(key.fileobj)
            return True
        finally:
            if ended is not None:
                os.close(ended)


def _watch(process: subprocess.Popen[bytes]) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the kernel offers none."""
    try:
        return os.pidfd_open(process.pid)
    except OSError:
        return None


def _drain(pipe: IO[bytes], into: bytearray, at_most: int | None = None) -> bool:
    """Take what the pipe holds now; False at its end. Beyond a limit the rest is read and dropped."""
    taken = 0
    while at_most is None or taken < at_most:
        try:
            chunk = os.read(pipe.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        taken += len(chunk)
        room = _MOST_OUTPUT - len(into)
        into += chunk[:room]
        if at_most is None and room <= 0:
            return True
    return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
