"""A finding, a leak and a place in the source, as the engine reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

Dim3 = tuple[int, int, int]
BETWEEN = ("blocks", "warps", "lanes")  # whom a race is between; what orders the first orders the others, too


@dataclass(frozen=True)
class Place:
    """A line of source; `function` is the inlined helper it belongs to, where it is one."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class _Placed:
    """`place` is innermost first: the line itself, then where each helper was inlined."""

    place: tuple[Place, ...]

    @property
    def file(self) -> str:
        return self.place[0].file if self.place else ""

    @property
    def line(self) -> int:
        return self.place[0].line if self.place else 0


@dataclass(frozen=True)
class Finding(_Placed):
    """One mistake, listed once, with how often it happened.

    `other` is the second side of a race, `between` one of BETWEEN, `allocated_at` where the program made the
    allocation that is named. `mistake` is its name in engine/checks/mistakes.def. The lower `first`, the
    earlier it was first seen.
    """

    kind: str
    message: str
    mistake: str = ""
    first: int = 0
    advice: str = ""
    place: tuple[Place, ...] = ()
    other: tuple[Place, ...] = ()
    between: str = ""
    kernel: str = ""
    block: Dim3 | None = None
    thread: Dim3 | None = None
    allocation: str = ""
    allocated_at: tuple[Place, ...] = ()
    address: int = 0
    count: int = 1
    launch: int = -1
    host_module: str = ""
    host_offset: int = 0

    derived: ClassVar = ("file", "line", "follows_from")
    sometimes: ClassVar = ("block", "thread", "host_module", "host_offset")


@dataclass(frozen=True)
class Leak(_Placed):
    """An allocation that the program never freed, and the line that made it."""

    allocation: str
    address: int
    bytes: int
    message: str
    place: tuple[Place, ...] = ()

    derived: ClassVar = ("kind", "file", "line")
