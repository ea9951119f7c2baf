"""A kernel's machine code in the few words that the cost model reads: order, stalls and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common.machine_code.cubin import KernelText
from common.machine_code.instructions import Instruction, decode

_LETTERS = {
    "": ".",
    "load": "L",
    "store": "S",
    "update": "U",
    "copy": "C",
    "shared load": "l",
    "shared store": "s",
}


@dataclass(frozen=True)
class Listing:
    """Instructions in the order in which they issue; a loop is its first and its last instruction."""

    lines: tuple[int, ...]  # of the PTX
    stalls: tuple[int, ...]  # cycles
    memory: str  # a letter for each, see _LETTERS
    loops: tuple[tuple[int, int], ...]

    def plain(self) -> dict[str, Any]:
        return dict(vars(self))


def listing(kernel: KernelText) -> Listing | None:
    """None where nothing ties the code to its PTX."""
    if not kernel.lines:
        return None
    code = decode(kernel.code, kernel.lines)
    called = min((i.target for i in code if i.calls), default=len(kernel.code))
    return Listing(
        # Behind the kernel stand the slow ways of divisions and roots, which are hardly ever taken.
        tuple(i.line if i.at < called else 0 for i in code),
        tuple(i.stall for i in code),
        "".join(_LETTERS[i.memory] for i in code),
        _loops(code),
    )


def _loops(code: Sequence[Instruction]) -> tuple[tuple[int, int], ...]:
    """Every branch backwards closes one; the branch to itself behind the last exit does not count."""
    number = {instruction.at: n for n, instruction in enumerate(code)}
    return tuple(
        (number[i.target], n)
        for n, i in enumerate(code)
        if 0 <= i.target < i.at and not i.calls and i.target in number
    )
