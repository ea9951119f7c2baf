"""A cubin, as far as needed: the machine code of each kernel, and which PTX line each instruction is from.

A cubin is an ELF file. Each kernel has a section `.text.NAME`; ptxas keeps beside it, for code built with
`-lineinfo`, a DWARF line table from machine code to the PTX text (`.nv_debug_line_sass`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from common.core.errors import CourseError
from common.machine_code.elf import Section, sections

_TEXT = ".text."
_LINES = ".nv_debug_line_sass"
_RELOCATIONS = ".rela.nv_debug_line_sass"


class NotACubin(CourseError):
    """What was read is not a cubin that this module understands."""


@dataclass(frozen=True)
class KernelText:
    """One kernel: its code, and for the offset of an instruction the PTX line it was made from."""

    name: str
    code: bytes
    lines: dict[int, int]  # from this offset on, up to the next


def read(data: bytes) -> list[KernelText]:
    """All kernels of a cubin."""
    try:
        found = list(sections(data))
        lines = _line_tables(found)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as problem:
        raise NotACubin(f"this is not a cubin that can be read: {problem}") from problem
    return [
        KernelText(section.name.removeprefix(_TEXT), section.data, lines.get(number, {}))
        for number, section in enumerate(found)
        if section.name.startswith(_TEXT)
    ]


def _line_tables(found: list[Section]) -> dict[int, dict[int, int]]:
    """Tables by the number of the section whose code they describe."""
    by_name = {section.name: section.data for section in found}
    if _LINES not in by_name or _RELOCATIONS not in by_name or ".symtab" not in by_name:
        return {}
    symbols = by_name[".symtab"]
    place_of: dict[int, int] = {}  # where an address is written in the table -> section it is in
    for at in range(0, len(by_name[_RELOCATIONS]), 24):
        place, info, _ = struct.unpack_from("<QQq", by_name[_RELOCATIONS], at)
        (place_of[place],) = struct.unpack_from("<H", symbols, (info >> 32) * 24 + 6)
    return _LineProgram(by_name[_LINES], place_of).run()


class _LineProgram:
    """The state machine of a DWARF 2 line table. Files do not matter: there is one PTX text."""

    def __init__(self, data: bytes, place_of: dict[int, int]) -> None:
        self._data = data
        self._place_of = place_of
        self._at = 0
        self._tables: dict[int, dict[int, int]] = {}

    def run(self) -> dict[int, dict[int, int]]:
        while self._at < len(self._data):
            (length,) = struct.unpack_from("<I", self._data, self._at)
            end = self._at + 4 + length
            (header,) = struct.unpack_from("<I", self._data, self._at + 6)
            start = self._at + 10 + header
            step, _, base, spread, first_special = struct.unpack_from("<BBbBB", self._data, self._at + 10)
            operands = self._data[self._at + 15 : self._at + 14 + first_special]
            self._at = start
            self._sequences(end, step, base, spread, first_special, operands)
        return self._tables

    def _sequences(
        self, end: int, step: int, base: int, spread: int, first_special: int, operands: bytes
    ) -> None:
        address, line, rows = 0, 1, {}
        while self._at < end:
            code = self._byte()
            if code >= first_special:
                address += (code - first_special) // spread * step
                line += base + (code - first_special) % spread
                rows[address] = line
            elif code == 0:  # extended
                length = self._number()
                kind, after = self._data[self._at], self._at + length
                if kind == 1:  # end of a sequence
                    address, line, rows = 0, 1, {}
                elif kind == 2:  # an address follows, filled in by a relocation
                    section = self._place_of.get(self._at + 1, -1)
                    rows = self._tables.setdefault(section, {})
                    (address,) = struct.unpack_from("<Q", self._data, self._at + 1)
                self._at = after
            elif code == 1:  # copy
                rows[address] = line
            elif code == 2:
                address += self._number() * step
            elif code == 3:
                line += self._number(signed=True)
            elif code == 8:
                address += (255 - first_special) // spread * step
            elif code == 9:
                (advance,) = struct.unpack_from("<H", self._data, self._at)
                self._at += 2
                address += advance
            else:
                for _ in range(operands[code - 1]):
                    self._number()

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _number(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value
