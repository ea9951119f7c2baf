"""Whether two files compile to the same machine code. Then no case can tell them apart: an index that the
compiler takes for 0, an array with room that nobody uses, two statements in another order."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from common.build.program import Target, build_program
from common.build.resources import cubin_of
from common.core.errors import CourseError
from common.machine_code.elf import Section, sections
from grader.building.build import HEADERS, WALLS

# nvcc derives names of things that only one file sees from its path and content.
_OF_THE_FILE = re.compile(rb"[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}")
# Of a cubin, the instructions, the constants, and what the driver must know of each kernel.
_DEVICE_CODE = (".text.", ".nv.constant", ".nv.global", ".nv.info", ".nv.shared")
_HOST_CODE = (".text", ".rodata", ".data", ".init_array")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")


def code_of(source: Path, target: Target) -> str | None:
    """A hash of the code of host and device, without lines and names that depend on the file alone; None if
    it does not compile or cannot be read."""
    try:
        built = build_program([source], target, kind="shared", include_dirs=[HEADERS], walls=WALLS)
        cubin = cubin_of(built.path, f"sm_{target.cc}", walls=WALLS)
        if cubin is None:
            return None
        (host,) = (path.read_bytes() for path in built.objects)
        device = sorted(_device_code(cubin.path.read_bytes()))
        parts = device + sorted(_host_code(list(sections(host))))
    except (CourseError, OSError, ValueError, IndexError, struct.error):
        return None
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(_OF_THE_FILE.sub(b"FILE", part)).digest())
    return whole.hexdigest()


def _device_code(cubin: bytes) -> Iterator[bytes]:
    for section in sections(cubin):
        if section.name.startswith(_DEVICE_CODE):
            yield section.name.encode() + b"\0" + section.data


def _host_code(found: list[Section]) -> Iterator[bytes]:
    """Each section with the places in it that the linker fills in, by the names of what it puts there."""
    by_name = {section.name: section for section in found}
    names = by_name[".strtab"].data
    symbols = [
        names[name : names.index(b"\0", name)] or (found[home].name.encode() if home < len(found) else b"")
        for name, _, _, home, _, _ in _SYMBOL.iter_unpack(by_name[".symtab"].data)
    ]
    for section in found:
        if section.name.startswith(_HOST_CODE):
            yield section.name.encode() + b"\0" + section.data
        elif section.name.startswith(tuple(f".rela{name}" for name in _HOST_CODE)):
            for offset, info, addend in _RELOCATION.iter_unpack(section.data):
                place = f"{section.name} {offset} {info & 0xFFFFFFFF} {addend} "
                yield place.encode() + symbols[info >> 32]
