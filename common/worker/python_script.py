"""The process that loads a student's Python file. The native worker is its main script: it loads this file
and calls main().

It obeys as the native worker does, and its libraries may be that worker's too. A Python file's entry points
take one argument of the type "python": the stream, and the arguments by name, where a tensor is described by
its place: an address on the GPU, or an offset in a file that is open here. torch is imported before the walls
are entered, for it is not the student's.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("HOME", os.environ["TMPDIR"])
os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(os.environ["TMPDIR"], "triton"))

import torch

with contextlib.suppress(ImportError):
    import triton  # so that a file that needs it gets a clear error

torch.set_num_threads(1)
_MOST_TEXT = 400


native = sys.modules["__main__"]
native.C_TYPES["python"] = object

_launches = native.module_at(os.path.join(os.path.dirname(__file__), "launches.py"), "launches")
_LAUNCHES = _launches.descriptor()
_latest = [0, 0]  # where the tensors' memory lies, and how much there is
if _LAUNCHES is not None:
    with contextlib.suppress(ImportError):
        import triton.runtime.autotuner
        import triton.runtime.interpreter

        _launches.Launcher(_LAUNCHES, lambda: tuple(_latest)).install(
            triton.runtime.interpreter, triton.runtime.autotuner
        )


class PythonFile:
    """A student's file, imported; its functions are entry points."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._module = native.module_at(path, "submission")
        except ModuleNotFoundError as problem:
            raise native.Refused(f"it imports {problem.name}, which is not installed here") from problem
        except SyntaxError as problem:
            where = f"{os.path.basename(path)}:{problem.lineno}"
            raise native.Refused(f"{where}: {problem.msg}") from problem
        except Exception as problem:
            raise native.Refused(f"importing it {_told(problem, path)}") from problem

    def __getattr__(self, name: str) -> PythonEntry:
        if name.startswith("__") or name == "cudaSetDevice":
            raise AttributeError(name)
        function = getattr(self._module, name, None)
        if not callable(function):
            raise native.Refused(f"there is no function {name} in {os.path.basename(self._path)}")
        return PythonEntry(function, name, self._path)


class PythonEntry:
    """A function that is called with tensors; what it returns is an error code, or nothing."""

    def __init__(self, function: Any, name: str, path: str) -> None:
        self._function, self._name, self._path = function, name, path
        self.argtypes: list[Any] = []
        self.restype: Any = None

    def __call__(self, order: dict[str, Any]) -> int:
        arguments = {name: _value(item) for name, item in order["arguments"].items()}
        try:
            with _on_stream(order["stream"]):
                return int(self._function(**arguments) or 0)
        except Exception as problem:
            raise native.Refused(f"{self._name} {_told(problem, self._path)}") from problem


def _told(problem: Exception, path: str) -> str:
    """ "raised ValueError: … (kernel.py:12)", the line being the last in the student's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == path]
    where = f" ({os.path.basename(path)}:{lines[-1]})" if lines else ""
    return f"raised {type(problem).__name__}: {str(problem)[:_MOST_TEXT]}{where}"


def _value(item: Any) -> Any:
    """A number, a tensor for its description, and a table as a list of tuples of those."""
    if isinstance(item, dict):
        place = (item["address"], 0, 0) if "address" in item else (item["offset"], item["file"], item["size"])
        if "file" in item:
            _latest[:] = _address(item["file"], item["size"]), item["size"]
        return _tensor(item["dtype"], item["count"], *place)
    if isinstance(item, list):
        return [tuple(map(_value, row)) for row in item]
    return item


@functools.lru_cache(maxsize=4096)
def _tensor(dtype: str, count: int, at: int, file: int, size: int) -> torch.Tensor:
    kind = getattr(torch, dtype)
    if file:
        if count == 0:
            return torch.empty(0, dtype=kind)
        return torch.frombuffer(_mapped(file, size), dtype=kind, count=count, offset=at)
    if count == 0:
        return torch.empty(0, dtype=kind, device="cuda")
    return torch.as_tensor(_DeviceMemory(at, count * kind.itemsize), device="cuda").view(kind)


@functools.cache  # a file is mapped once, so that a buffer has one address
def _mapped(file: int, size: int) -> mmap.mmap:
    """Where kernels run elsewhere, what is stored here is seen here alone."""
    return mmap.mmap(file, size, flags=mmap.MAP_SHARED if _LAUNCHES is None else mmap.MAP_PRIVATE)


@functools.cache
def _address(file: int, size: int) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(_mapped(file, size)))


class _DeviceMemory:
    """Tells torch about memory that is not its own."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


@contextlib.contextmanager
def _on_stream(stream: int | None) -> Iterator[None]:
    """None where there is no GPU, 0 for its default stream."""
    if not stream:
        yield
        return
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        yield


def main() -> None:
    native.main(lambda path: PythonFile(path) if path.endswith(".py") else ctypes.CDLL(path))
