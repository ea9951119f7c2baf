"""The sections of an ELF file, in its order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_NOBITS = 8  # has a length but no bytes in the file


@dataclass(frozen=True)
class Section:
    name: str
    data: bytes


def sections(data: bytes) -> Iterator[Section]:
    """Raises ValueError, IndexError or struct.error where the file is no whole 64-bit ELF file."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("it is not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<3H", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + number * size) for number in range(count)]
    names = data[headers[names_at][4] :]
    for name, kind, _, _, offset, length in headers:
        body = b"" if kind == _NOBITS else data[offset : offset + length]
        yield Section(names[name : names.index(b"\0", name)].decode(), body)
