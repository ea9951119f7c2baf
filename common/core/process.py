"""Run a tool in a session of its own, so that nothing it started outlives the call or this process."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.addresses import fix_addresses
from common.core.cpu_time import TimeLimit
from common.core.death import end_with_parent
from common.core.errors import MachineOverloaded
from common.core.proc import all_pids, stat_of


@dataclass(frozen=True)
class Finished:
    """How a contained command ended; `status` is None when it ran out of time and was killed.

    `stopped` says why somebody who watched it ended it, as in "used more than 64 MiB of memory".
    """

    status: int | None
    output: str
    seconds: float
    stopped: str | None = None


def run_contained(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    on_tick: Callable[[str], None] | None = None,
    on_start: Callable[[int], None] | None = None,
    fixed_addresses: bool = False,
) -> Finished:
    """Run `command` and return its combined output. `timeout` counts the time of the command's own processes;
    raises MachineOverloaded when they do not get that.

    `on_start` hears the number of the process, which is its session's too; `on_tick` is called a few times a
    second with all output so far. When this returns or raises, every process of the command's session is
    gone; when this process is killed, the command gets a signal to stop. With `fixed_addresses` its memory
    lies where it lay last time, if the system allows that.
    """
    started = time.monotonic()
    parent = os.getpid()

    def prepare() -> None:
        end_with_parent(parent, signal.SIGTERM)  # which ninja passes on to its compilers
        if fixed_addresses:
            fix_addresses()

    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=prepare,
    )
    output = bytearray()
    try:
        if on_start is not None:
            on_start(process.pid)
        limit = TimeLimit(timeout, lambda: session_members(process.pid))
        status = _collect(process, output, limit, on_tick)
        if limit.starved:
            raise MachineOverloaded(Path(command[0]).name, limit.got)
    finally:
        kill_session(process.pid)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return Finished(status, output.decode(errors="replace"), time.monotonic() - started)


def _collect(
    process: subprocess.Popen[bytes],
    output: bytearray,
    limit: TimeLimit,
    on_tick: Callable[[str], None] | None,
) -> int | None:
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if limit.over():
                return None
            if selector.select(limit.tick()):
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    break
                output += chunk
            elif process.poll() is not None:
                break  # it ended, and a child that kept the pipe open must not hold us up
            if on_tick is not None:
                on_tick(output.decode(errors="replace"))
    while True:
        try:
            return process.wait(limit.tick())
        except subprocess.TimeoutExpired:
            if limit.over():
                return None


def kill_session(session: int) -> None:
    """SIGKILL every process of a session. Process groups are not enough: ninja gives each job its own."""
    for _ in range(50):
        members = session_members(session)
        if not members:
            return
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def session_members(session: int) -> list[int]:
    """The living processes of a session. A watchdog asks many times per second, so only members are looked at
    closely: one call tells a process's session, its state takes opening a file."""
    return [pid for pid in all_pids() if _lives_in(pid, session)]


def _lives_in(pid: int, session: int) -> bool:
    try:
        if os.getsid(pid) != session:
            return False
    except OSError:
        return False
    stat = stat_of(pid)
    return stat is not None and stat.lives


def status_text(status: int) -> str:
    """How a process ended: "status 1", or the name of the signal."""
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
