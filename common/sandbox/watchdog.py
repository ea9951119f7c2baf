"""Look, from outside, at what the processes of a session use, and end them when it is too much."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.cpu_time import COUNTED, TimeLimit
from common.core.proc import goes_on_without_first_thread, resident_bytes, stat_of
from common.core.process import kill_session, session_members
from common.sandbox.control_group import group_around

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1 << 20
_THREADS_OF_ONE = 64  # of a process, where only processes are counted
# Seconds between two looks, by how long the session has run: damage is quickest at the start.
_PERIODS = ((1.0, 0.02), (10.0, 0.05), (float("inf"), 0.1))


@dataclass(frozen=True)
class Limits:
    """What a session may use; None for what is not limited."""

    memory_bytes: int | None = None
    output_bytes: int | None = None
    folder_bytes: int | None = None
    folder_files: int | None = None
    processes: int | None = None
    threads: int | None = None
    seconds: float | None = None


class Watchdog:
    """A thread that watches the session of process `leader` until it ends or `stop` is called.

    `output` is a descriptor of the file the session prints to, `folder` the one folder it may write, and
    `shared` are descriptors of memory that it may have filled without mapping it any more. When a limit is
    passed, the whole session is killed and `reason` says why: "used more than 64 MiB of memory". Where the
    machine has cgroups for us, one holds the session, too.
    """

    def __init__(
        self,
        leader: int,
        limits: Limits,
        *,
        output: int | None = None,
        folder: Path | None = None,
        shared: Sequence[int] = (),
    ) -> None:
        self._reason: str | None = None
        self._leader = leader
        self._born = _start_time(leader)
        self._limits = limits
        self._output = output
        self._folder = folder
        self._shared = [os.dup(descriptor) for descriptor in shared]  # whose owner may close them first
        self._started = time.monotonic()
        self._time = TimeLimit(limits.seconds, self._pids) if limits.seconds is not None else None
        self._group = group_around(self._pids() or [leader], limits.memory_bytes, _tasks(limits))
        self._headless: set[int] = set()  # processes that had lost their first thread alone at the last look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"watchdog of {leader}", daemon=True)
        self._thread.start()

    @property
    def reason(self) -> str | None:
        """Why the session was killed, if it was."""
        if self._reason is None and self._group is not None and self._group.ran_out_of_memory:
            self._reason = self._too_much_memory
        return self._reason

    @property
    def _too_much_memory(self) -> str:
        return f"used more than {(self._limits.memory_bytes or 0) // _MIB} MiB of memory"

    def stop(self) -> str | None:
        """End the watch. Afterwards `reason`, returned here too, is final."""
        self._stopping.set()
        self._thread.join()
        reason = self.reason
        if self._group is not None:
            self._group.close()
            self._group = None
        while self._shared:
            os.close(self._shared.pop())
        return reason

    def _watch(self) -> None:
        while not self._stopping.is_set():
            if _start_time(self._leader) != self._born:
                return  # it is gone, and its number may be another's by now
            excess = next(self._excesses(), None)
            if excess is not None:
                self._reason = excess
                kill_session(self._leader)
                return
            age = time.monotonic() - self._started
            self._stopping.wait(next(period for until, period in _PERIODS if age < until))

    def _excesses(self) -> Iterator[str]:
        limits = self._limits
        if self._time is not None and self._time.over():
            yield f"ran for more than {limits.seconds:g} s {COUNTED}"
        pids = self._pids()
        before, self._headless = self._headless, set(filter(goes_on_without_first_thread, pids))
        if before & self._headless:  # twice: between the call that ends it and its threads' end, one may wait
            yield "ended its first thread while others went on"
        if limits.processes is not None and len(pids) > limits.processes:
            yield f"started more than {limits.processes} processes"
        if limits.threads is not None and sum(map(count_threads, pids)) > limits.threads:
            yield f"started more than {limits.threads} threads"
        if limits.memory_bytes is not None and self._memory(pids) > limits.memory_bytes:
            yield self._too_much_memory
        if (
            limits.output_bytes is not None
            and self._output is not None
            and os.fstat(self._output).st_size > limits.output_bytes
        ):
            yield f"printed more than {_size(limits.output_bytes)}"
        if self._folder is not None:
            yield from self._excesses_on_disk(self._folder)

    def _memory(self, pids: Sequence[int]) -> int:
        return sum(map(_memory, pids)) + sum(os.fstat(file).st_blocks * 512 for file in self._shared)

    def _pids(self) -> list[int]:
        return [self._leader] if self._limits.processes == 1 else session_members(self._leader)

    def _excesses_on_disk(self, folder: Path) -> Iterator[str]:
        limits = self._limits
        written = 0
        for files, size in enumerate(_sizes_below(folder), start=1):
            written += size
            if limits.folder_files is not None and files > limits.folder_files:
                yield f"made more than {limits.folder_files} files in its temporary folder"
            if limits.folder_bytes is not None and written > limits.folder_bytes:
                yield f"wrote more than {_size(limits.folder_bytes)} to its temporary folder"


def _tasks(limits: Limits) -> int | None:
    """Threads of all processes together."""
    if limits.threads is not None:
        return limits.threads
    return None if limits.processes is None else limits.processes * _THREADS_OF_ONE


def _size(size: int) -> str:
    return f"{size // _MIB} MiB"


def _start_time(pid: int) -> bytes | None:
    """When a process began. None when it is over."""
    stat = stat_of(pid)
    return stat.born if stat is not None and stat.lives else None


def count_threads(pid: int) -> int:
    stat = stat_of(pid)
    return stat.threads if stat is not None else 0


def _memory(pid: int) -> int:
    """Resident memory, and that of files without a name (memfd, deleted) which it only holds open."""
    return resident_bytes(pid) + sum(_nameless_files(pid).values())


def _nameless_files(pid: int) -> dict[tuple[int, int], int]:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return {}
    found = {}
    for name in descriptors:
        try:
            about = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue  # closed meanwhile
        if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
            found[about.st_dev, about.st_ino] = about.st_blocks * 512
    return found


def _sizes_below(folder: Path) -> Iterator[int]:
    """The bytes on disk of everything under `folder`."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append(entry.path)
                    yield about.st_blocks * 512
        except OSError:
            continue  # removed meanwhile
