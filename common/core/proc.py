"""What Linux tells in /proc about a process, and about memory. Of a process that is over there is nothing, or
it is a zombie."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

_ASSUMED_BYTES = 4 << 30  # where Linux does not tell
_PAGE = os.sysconf("SC_PAGE_SIZE")


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
        """Whether its first thread has ended and others go on. Then /proc shows none of its memory."""
        return self.state == b"Z" and self.threads > 1


def stat_of(pid: int) -> Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command's name is in parentheses and may itself hold spaces and parentheses.
            fields = file.read().rsplit(b")", 1)[1].split()
        return Stat(pid, fields[0], int(fields[1]), int(fields[3]), int(fields[17]), fields[19])
    except (OSError, IndexError, ValueError):
        return None


def all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def all_processes() -> Iterator[Stat]:
    return (stat for pid in all_pids() if (stat := stat_of(pid)) is not None)


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
