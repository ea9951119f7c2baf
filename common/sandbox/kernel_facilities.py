"""What the running Linux kernel offers for the walls around student code."""

from __future__ import annotations

import os
from dataclasses import dataclass

from common.sandbox.control_group import parent_group
from common.sandbox.walls import landlock_abi, seccomp_problem

# What each version of Landlock added that the walls use. What an older one lacks, seccomp refuses instead.
_SINCE_ABI = {
    1: "files",
    3: "truncation",
    4: "TCP",
    5: "requests to devices",
    6: "signals and abstract sockets",
}


@dataclass(frozen=True)
class Facility:
    """One facility: whether it is there, in which form, and what its lack means."""

    name: str
    present: bool
    detail: str
    without: str


def kernel_facilities() -> list[Facility]:
    """Everything the walls are made of, present or not."""
    return [_landlock(), _seccomp(), _capabilities(), _processes(), _control_groups(), _memfd()]


def _landlock() -> Facility:
    abi = landlock_abi()
    parts = ", ".join(part for since, part in _SINCE_ABI.items() if abi >= since)
    detail = f"ABI {abi}: {parts}" if abi > 0 else os.strerror(-abi)
    cost = (
        "student code reads and writes all files that you can: solutions, hidden cases, your home. "
        "Grade as a user who owns nothing, or on a kernel of 5.13 or later with Landlock on"
    )
    return Facility("Landlock", abi > 0, detail, cost)


def _seccomp() -> Facility:
    problem = seccomp_problem()
    cost = (
        "student code can open sockets, start processes, and signal or trace your own. "
        "Grade in a container without network"
    )
    return Facility("seccomp", problem is None, problem or "system calls can be filtered", cost)


def _capabilities() -> Facility:
    detail = "you are root: dropped before student code runs" if os.geteuid() == 0 else "none to drop"
    return Facility("capabilities", True, detail, "")


def _processes() -> Facility:
    present = os.path.exists("/proc/self/statm")
    detail = "memory, threads and output are watched there" if present else "not mounted"
    cost = "what student code uses cannot be watched: mount /proc"
    return Facility("/proc", present, detail, cost)


def _control_groups() -> Facility:
    parent = parent_group()
    detail = (
        "none that we may make: memory and processes are watched from outside"
        if parent is None
        else "memory and processes are limited by the kernel, too"
    )
    return Facility("cgroups", True, detail, "")


def _memfd() -> Facility:
    try:
        os.close(os.memfd_create("probe"))
    except (OSError, AttributeError) as error:
        return Facility("memfd", False, str(error), "device memory needs files in /dev/shm")
    return Facility("memfd", True, "usable", "device memory needs files in /dev/shm")
