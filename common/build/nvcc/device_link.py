"""Links the device code of files that were compiled with -rdc=true, for the virtual GPU.

Such an object calls a function of its own name to register its device code, and expects the linker of device
code (nvlink, for machine code) to write it. Here the function hands the object's PTX to the runtime library:
one module for all objects of a program, whose symbols the engine links.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from common.core.errors import CourseError

_CALLED = b"__cudaRegisterLinkedBinary"
_SYMBOL = re.compile(r"\s([A-Za-z]) __cudaRegisterLinkedBinary(\w+)$", re.MULTILINE)
_SOURCE_OF_ALL = """\
extern void __vgpuRegisterLinkedBinary(void*** linked, void (*entities)(void**), const void* fatbin);
extern void __cudaUnregisterFatBinary(void** linked);
static void** linked;
__attribute__((destructor)) static void unregister(void) {
  if (linked) __cudaUnregisterFatBinary(linked);
}
"""
# The reference to the fat binary also takes the object out of a static library.
_SOURCE_OF_ONE = """\
extern const char __fatbinwrap{id}[];
__attribute__((visibility("hidden")))
void __cudaRegisterLinkedBinary{id}(void (*entities)(void**), void* fatbin, void* id, void (*use)(void*)) {{
  (void)fatbin, (void)id, (void)use;
  __vgpuRegisterLinkedBinary(&linked, entities, __fatbinwrap{id});
}}
"""
_NM_SECONDS = 120


def device_link_source(files: Sequence[Path]) -> str | None:
    """C code that registers the device code of these objects and static libraries; None where none of them
    was compiled with -rdc=true, or all are linked already."""
    if not any(_CALLED in path.read_bytes() for path in files):
        return None  # as of almost all programs: nothing needs to be looked up
    symbols = _SYMBOL.findall(_names(files))
    defined = {name for kind, name in symbols if kind != "U"}
    wanted = sorted({name for kind, name in symbols if kind == "U"} - defined)
    if not wanted:
        return None
    return _SOURCE_OF_ALL + "".join(_SOURCE_OF_ONE.format(id=name) for name in wanted)


def _names(files: Sequence[Path]) -> str:
    try:
        done = subprocess.run(
            ["nm", *map(str, files)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_NM_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CourseError(
            f"nm, which is part of binutils as the linker is, cannot be run: {problem}"
        ) from problem
    return done.stdout  # of a file that is no object it says so on stderr, and the linker says it better
