"""The PTX that nvcc has put into a library as plain text, for a program that is built for the virtual GPU.

nvcc writes one container of device code for each source, into a section `.nv_fatbin`. A container's entries
have a header each; PTX is text that ends at its first zero byte.
"""

from __future__ import annotations

import struct

from common.machine_code.elf import sections

_SECTION = ".nv_fatbin"
_MAGIC = 0xBA55ED50
_PTX = 1
_CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
_ENTRY = struct.Struct("<HHIQI")  # kind, version, bytes of this header, of the payload, of it compressed


def embedded_ptx(library: bytes) -> bytes | None:
    """The one PTX text of a library that was built from one source; None if anything else is in its place.

    The section must be a single container with a single entry: what a source has put there by its own hand is
    never taken for the compiler's.
    """
    try:
        (data,) = (section.data for section in sections(library) if section.name == _SECTION)
        magic, _, header, length = _CONTAINER.unpack_from(data)
        kind, _, entry_header, payload, compressed = _ENTRY.unpack_from(data, header)
    except (struct.error, IndexError, ValueError):
        return None
    if magic != _MAGIC or header + length != len(data) or entry_header + payload != length:
        return None
    if kind != _PTX or compressed:
        return None
    return data[header + entry_header :].partition(b"\0")[0]
