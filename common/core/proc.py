"""What /proc says about processes and about memory. A process that has ended is not there, or is a zombie."""

from __future__ import annotations

import contextlib
import glob
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

_ASSUMED_BYTES = 4 << 30  # where /proc does not say
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Of a thread: a flag and a pending signal (include/linux/sched.h, and SIGKILL's bit).
_EXITING = 0x4
_KILLED = 1 << (signal.SIGKILL - 1)


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that somebody here asks for."""

    pid: int
    state: bytes
    parent: int
    session: int
    threads: int
    born: bytes  # with the number, a name that is never given twice

    @property
    def lives(self) -> bool:
        return self.state != b"Z" or self.headless

    @property
    def headless(self) -> bool:
        """Whether its first thread has ended and others have not. Then /proc shows none of its memory."""
        return self.state == b"Z" and self.threads > 1


def stat_of(pid: int) -> Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command's name is in parentheses and may itself hold spaces and parentheses.
            fields = file.read().rsplit(b")", 1)[1].split()
        return Stat(pid, fields[0], int(fields[1]), int(fields[3]), int(fields[17]), fields[19])
    except (OSError, IndexError, ValueError):
        return None


def goes_on_without_first_thread(pid: int) -> bool:
    """Whether a thread of a process whose first one has ended is not about to end, too. Where a whole process
    ends, its first thread may be the first to be gone."""
    stat = stat_of(pid)
    return stat is not None and stat.headless and not all(map(_is_ending, _threads_of(pid)))


def _threads_of(pid: int) -> list[list[bytes]]:
    """The fields of each thread's stat but for its number and name."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                found.append(file.read().rsplit(b")", 1)[1].split())
    return found


def _is_ending(fields: list[bytes]) -> bool:
    flags, pending = int(fields[6]), int(fields[28])
    return fields[0] in (b"Z", b"X") or bool(flags & _EXITING) or bool(pending & _KILLED)


def all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def all_processes() -> Iterator[Stat]:
    return (stat for pid in all_pids() if (stat := stat_of(pid)) is not None)


def tree_of(root: int | None) -> list[int]:
    """A process and its descendants, from the kernel's lists of children, else from all of /proc."""
    found, waiting = [], [root] if root is not None else []
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for task in glob.glob(f"/proc/{pid}/task/*"):
            try:
                with open(f"{task}/children", "rb") as file:
                    waiting += map(int, file.read().split())
            except OSError:
                if os.path.exists(task):
                    return [found[0], *descendants(found[0])]
    return found


def descendants(root: int) -> list[int]:
    """The children of a process and all below them, from all of /proc."""
    children: dict[int, list[int]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process.pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


def available_bytes() -> int:
    """Memory that can be had without taking it from others: of the machine, or of the container around it."""
    free = _ASSUMED_BYTES
    with contextlib.suppress(OSError), open("/proc/meminfo", "rb") as file:
        free = next((int(line.split()[1]) << 10 for line in file if line.startswith(b"MemAvailable:")), free)
    return min([free, *_container_limits()])


def _container_limits() -> Iterator[int]:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, "rb") as file:
                yield int(file.read())
        except (OSError, ValueError):  # "max" is no number: there is no limit
            continue
