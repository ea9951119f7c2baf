"""A cgroup (version 2) around a session, where this machine lets us make one: the kernel itself limits memory
and tasks, so that nothing gets past the watchdog between two of its looks."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import time
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_NAME = "course"
# The watchdog should be first: it says which limit was passed. A group counts more than it does, such as page
# tables and buffers of sockets.
_ROOM = 1.25
_MORE_BYTES = 64 << 20
_MORE_TASKS = 64
_TRIES, _TRY_SECONDS = 20, 0.005


class ControlGroup:
    """One group. Its processes may have left it empty; then `close` removes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        atexit.register(self.close)

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended its processes for that."""
        with contextlib.suppress(OSError, ValueError):
            events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
            return int(events.get("oom_kill", 0)) > 0
        return False

    def close(self) -> None:
        """Does nothing while processes of it run."""
        atexit.unregister(self.close)
        for _ in range(_TRIES):
            with contextlib.suppress(OSError):
                if not (self.folder / "cgroup.procs").read_text():
                    self.folder.rmdir()
            if not self.folder.exists():
                return
            time.sleep(_TRY_SECONDS)  # the last process is on its way out


def group_around(pids: Sequence[int], memory_bytes: int | None, tasks: int | None) -> ControlGroup | None:
    """A new group with these processes, the first of which names it, and with what they start from now on.
    None where there can be no group, or no limit is asked for."""
    parent = parent_group()
    if parent is None or (memory_bytes is None and tasks is None):
        return None
    _remove_left_over(parent)
    folder = parent / f"{_NAME}-{os.getpid()}-{pids[0]}"
    try:
        folder.mkdir()
    except OSError:
        return None
    group = ControlGroup(folder)
    try:
        if memory_bytes is not None:
            (folder / "memory.max").write_text(str(int(_ROOM * memory_bytes) + _MORE_BYTES))
            (folder / "memory.oom.group").write_text("1")
            with contextlib.suppress(OSError):  # a kernel without swap
                (folder / "memory.swap.max").write_text("0")
        if tasks is not None and (folder / "pids.max").exists():
            (folder / "pids.max").write_text(str(tasks + _MORE_TASKS))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (folder / "cgroup.procs").write_text(str(pid))
    except OSError:
        group.close()
        return None
    return group


@functools.cache
def parent_group() -> Path | None:
    """The nearest group at or above this process's own that passes the memory controller on, and in which we
    may make groups and move processes."""
    try:
        own = next(line[3:] for line in _OWN.read_text().splitlines() if line.startswith("0::"))
        here = _ROOT / own.strip("/")
        if not (_ROOT / "cgroup.controllers").is_file():
            return None
        above = [here, *(folder for folder in here.parents if folder == _ROOT or _ROOT in folder.parents)]
        return next((folder for folder in above if _may_be_parent(folder)), None)
    except (OSError, StopIteration):
        return None


def _may_be_parent(folder: Path) -> bool:
    try:
        controllers = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return "memory" in controllers and all(
        os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs")
    )


def _remove_left_over(parent: Path) -> None:
    """Groups of processes that were killed before they could do it."""
    for folder in parent.glob(f"{_NAME}-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):
                folder.rmdir()
