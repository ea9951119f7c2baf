"""The process that loads student libraries. Run as a script, with nothing of this repository importable.

It obeys JSON lines on the socket whose descriptor is its only argument, and ends when that socket closes,
even in the middle of a call.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
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
_MOST_OUTPUT = 64 << 20  # bytes a library may print before writes fail


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_OUTPUT, _MOST_OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_parent, args=(control,), daemon=True).start()
    libraries: list[ctypes.CDLL] = []
    with control.makefile("rw", encoding="utf-8") as stream:
        for line in stream:
            stream.write(json.dumps(_obey(json.loads(line), libraries)) + "\n")
            stream.flush()


def _end_with_parent(control: socket.socket) -> None:
    """Native code may never come back from a call, so a thread of its own watches for the parent's end."""
    watched = select.poll()
    watched.register(control, select.POLLRDHUP)
    watched.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def _open_device(library: ctypes.CDLL) -> None:
    """Connect now, not at the library's first CUDA call, so that a device pointer which host code touches
    before that is reported too."""
    if hasattr(library, "cudaSetDevice"):
        library.cudaSetDevice(0)


def _obey(order: dict[str, Any], libraries: list[ctypes.CDLL]) -> dict[str, Any]:
    if "load" in order:
        try:
            libraries.append(ctypes.CDLL(order["load"]))
        except OSError as problem:
            return {"problem": str(problem)}
        _open_device(libraries[-1])
        return {"library": len(libraries) - 1}
    try:
        entry = getattr(libraries[order["library"]], order["entry"])
    except AttributeError:
        return {"problem": f"there is no entry point {order['entry']}"}
    entry.argtypes = [C_TYPES[name] for name in order["types"]]
    entry.restype = ctypes.c_int
    return {"returned": entry(*order["values"])}


if __name__ == "__main__":
    main()
