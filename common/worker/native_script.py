"""The process that loads student libraries. Run as a script, with nothing of this repository importable.

It obeys JSON lines on the socket whose descriptor is its first argument. The first order makes it enter the
walls; until then it has loaded nothing foreign, and after it it can neither read a Python module nor start
a thread, so everything it needs is imported here. A second argument is the path of another script, whose
main() then runs in place of this one's.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
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
    "table": ctypes.c_void_p,
}
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Refused(Exception):
    """What was asked cannot be done; the text says why."""


def main(open_library: Callable[[str], Any] = ctypes.CDLL) -> None:
    """Obey until the channel closes. `open_library` makes something whose attributes are entry points."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    libraries: list[Any] = []
    with control.makefile("rw", encoding="utf-8") as stream:
        for line in stream:
            stream.write(answered(line, libraries, control, open_library))
            stream.flush()


def answered(
    line: str, libraries: list[Any], control: socket.socket, open_library: Callable[[str], Any]
) -> str:
    """The answer to an order, as a line of JSON."""
    order = json.loads(line)
    try:
        answer = _obey(order, libraries, control, open_library)
    except Refused as problem:
        answer = {"problem": str(problem)}
    return json.dumps({"turn": order["turn"], **answer}) + "\n"


def _obey(
    order: dict[str, Any], libraries: list[Any], control: socket.socket, open_library: Callable[[str], Any]
) -> dict[str, Any]:
    if "policy" in order:
        return _enter_walls(order, control)
    if "load" in order:
        try:
            libraries.append(open_library(order["load"]))
        except OSError as problem:
            raise Refused(str(problem)) from problem
        _open_device(libraries[-1])
        return {"library": len(libraries) - 1}
    calls = []
    # All are found before the first is made, so that they follow each other closely.
    for call in order["calls"]:
        name = call["entry"]
        entry = getattr(libraries[call["library"]], name, None)
        if entry is None:
            raise Refused(
                f'there is no entry point {name} in the library: declare it extern "C" and not static'
            )
        entry.argtypes = [C_TYPES[name] for name in call["types"]]
        entry.restype = ctypes.c_int
        for _ in range(call["times"]):
            calls.append((entry, *_with_tables(call["types"], call["values"])))
    return {"returned": [_call(*prepared) for prepared in calls]}


def _with_tables(types: list[str], values: list[Any]) -> tuple[list[Any], list[Any]]:
    """The values, with each table's fields packed in memory and its address in their place."""
    tables, plain = [], []
    for name, value in zip(types, values, strict=True):
        if name == "table":
            tables.append((ctypes.c_uint64 * max(1, len(value)))(*value))
            value = ctypes.addressof(tables[-1])
        plain.append(value)
    return plain, tables


def _call(entry: Any, values: list[Any], tables: list[Any]) -> int:
    returned = int(entry(*values))
    for table in tables:  # they are the caller's again: work that reads them later shall not find them
        ctypes.memset(table, 0, ctypes.sizeof(table))
    return returned


def _enter_walls(order: dict[str, Any], control: socket.socket) -> dict[str, Any]:
    def hand_over(descriptor: int) -> None:
        socket.send_fds(control, [b" "], [descriptor])  # JSON may begin with a space: the answer follows

    try:
        walls = module_at(order["walls"], "walls")
        walls.die_with_parent(order["parent"])
        missing = walls.enter(order["policy"], hand_over)
        if order["runtime"] is not None:
            _open_device(ctypes.CDLL(order["runtime"]))
        if order["more_addresses"] is not None:
            _bound_addresses(order["more_addresses"])
    except (OSError, ValueError) as problem:
        return {"problem": str(problem)}
    return {"missing": missing}


def module_at(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _open_device(library: Any) -> None:
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
    if len(sys.argv) > 2:
        module_at(sys.argv[2], "worker_script").main()
    else:
        main()
