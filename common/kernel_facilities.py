"""What the running Linux kernel offers for keeping a student's program in its place."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

_LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture
_LANDLOCK_VERSION_FLAG = 1
_CLONE_NEWUSER = 0x10000000


@dataclass(frozen=True)
class Facility:
    """One facility: whether it is there, in which form, and what its lack means."""

    name: str
    present: bool
    detail: str
    without: str


def kernel_facilities() -> list[Facility]:
    """Every facility a sandbox could use, present or not."""
    return [_landlock(), _seccomp(), _user_namespaces(), _ptrace_scope(), _memfd(), _cgroups()]


def _landlock() -> Facility:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number, size, flags = (ctypes.c_long(n) for n in (_LANDLOCK_CREATE_RULESET, 0, _LANDLOCK_VERSION_FLAG))
    version = libc.syscall(number, None, size, flags)
    detail = f"ABI {version}" if version > 0 else os.strerror(ctypes.get_errno())
    return Facility("Landlock", version > 0, detail, "a program's file access cannot be limited without root")


def _seccomp() -> Facility:
    mode = _status_field("Seccomp")
    filters = _status_field("Seccomp_filters")
    detail = "not in this kernel" if mode is None else f"mode {mode}, {filters or '0'} filters already on"
    return Facility("seccomp", mode is not None, detail, "system calls cannot be filtered")


def _user_namespaces() -> Facility:
    """Tried for real, in a child: a sysctl, a security module or a container can each say no."""
    child = os.fork()
    if child == 0:
        ok = ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) == 0
        os._exit(0 if ok else min(ctypes.get_errno(), 255) or 255)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    detail = "usable" if code == 0 else os.strerror(code)
    return Facility("user namespaces", code == 0, detail, "no private network or process table for a program")


def _ptrace_scope() -> Facility:
    scope = _first_line(Path("/proc/sys/kernel/yama/ptrace_scope"))
    detail = f"ptrace scope {scope}" if scope is not None else "not in this kernel"
    present = scope is not None and scope != "0"
    return Facility("Yama", present, detail, "programs of one user can trace each other")


def _memfd() -> Facility:
    try:
        os.close(os.memfd_create("probe"))
    except (OSError, AttributeError) as error:
        return Facility("memfd", False, str(error), "device memory needs files in /dev/shm")
    return Facility("memfd", True, "usable", "device memory needs files in /dev/shm")


def _cgroups() -> Facility:
    root = Path("/sys/fs/cgroup")
    controllers = _first_line(root / "cgroup.controllers")
    if controllers is None:
        return Facility("cgroup v2", False, "not mounted", "memory is limited per process, not per program")
    writable = os.access(root, os.W_OK)
    detail = f"{controllers or 'no controllers'}; {'writable' if writable else 'not writable by you'}"
    return Facility("cgroup v2", writable, detail, "memory is limited per process, not per program")


def _status_field(name: str) -> str | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), None)


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
