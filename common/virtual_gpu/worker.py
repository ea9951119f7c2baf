"""The process that loads student libraries. Run as a script, with nothing of this repository importable.

It obeys JSON lines on the socket whose descriptor is its only argument. The first order makes it enter the
walls; until then it has loaded nothing foreign, and after it it can neither read a Python module nor start
a thread, so everything it needs is imported here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import resource
import socket
import sys
from types import ModuleType
from typing import Any

# What an entry point may take, by the names that device.py gives them.
C_TYPES: dict[str, Any] = {
    "pointer": ctypes.c_void_p,
    "stream": ctypes.c_void_p,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    libraries: list[ctypes.CDLL] = []
    with control.makefile("rw", encoding="utf-8") as stream:
        for line in stream:
            order = json.loads(line)
            stream.write(json.dumps({"turn": order["turn"], **_obey(order, libraries, control)}) + "\n")
            stream.flush()


def _obey(order: dict[str, Any], libraries: list[ctypes.CDLL], control: socket.socket) -> dict[str, Any]:
    if "policy" in order:
        return _enter_walls(order, control)
    if "load" in order:
        try:
            libraries.append(ctypes.CDLL(order["load"]))
        except OSError as problem:
            return {"problem": str(problem)}
        _open_device(libraries[-1])
        return {"library": len(libraries) - 1}
    calls = []
    for call in order[
        "calls"
    ]:  # all are found before the first is made, so that they follow each other closely
        try:
            entry = getattr(libraries[call["library"]], call["entry"])
        except AttributeError:
            return {"problem": f"there is no entry point {call['entry']}"}
        entry.argtypes = [C_TYPES[name] for name in call["types"]]
        entry.restype = ctypes.c_int
        calls.append((entry, call["values"]))
    return {"returned": [entry(*values) for entry, values in calls]}


def _enter_walls(order: dict[str, Any], control: socket.socket) -> dict[str, Any]:
    def hand_over(descriptor: int) -> None:
        socket.send_fds(control, [b" "], [descriptor])  # JSON may begin with a space: the answer follows

    try:
        walls = _module_at(order["walls"])
        walls.die_with_parent(order["parent"])
        missing = walls.enter(order["policy"], hand_over)
        if order["runtime"] is not None:
            _open_device(ctypes.CDLL(order["runtime"]))
        if order["more_addresses"] is not None:
            _bound_addresses(order["more_addresses"])
    except (OSError, ValueError) as problem:
        return {"problem": str(problem)}
    return {"missing": missing}


def _module_at(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("walls", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _open_device(library: ctypes.CDLL) -> None:
    """Connect now, not at the library's first CUDA call, so that a device pointer which host code touches
    before that is reported too."""
    if hasattr(library, "cudaSetDevice"):
        library.cudaSetDevice(0)


def _bound_addresses(more: int) -> None:
    """Allow so much address space beyond what is mapped now, the device's reserved range included.

    The watchdog sees memory in use; memory that is mapped, filled and then hidden from the page tables it
    cannot see, and this keeps that small.
    """
    with open("/proc/self/statm", "rb") as file:
        mapped = int(file.read().split()[0]) * _PAGE
    resource.setrlimit(resource.RLIMIT_AS, (mapped + more, mapped + more))


if __name__ == "__main__":
    main()
