"""Names of cudaError_t values, from the one table there is: the runtime library's."""

from __future__ import annotations

import ctypes
import functools

from common.build.engine.build import build_engine


@functools.cache
def error_name(code: int) -> str:
    name = _runtime().cudaGetErrorName(code)
    return name.decode() if isinstance(name, bytes) else str(name)


@functools.cache
def _runtime() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_engine().runtime))
    library.cudaGetErrorName.restype = ctypes.c_char_p
    library.cudaGetErrorName.argtypes = [ctypes.c_int]
    return library
