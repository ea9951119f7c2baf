"""How a worker accesses a case's device memory: it opens ours, or it has its own and bytes are copied."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol

from common.build.engine.error_names import error_name
from common.core.errors import CourseError
from common.gpu.support import SharedBuffer
from common.worker.process import Worker

_SECONDS = 60.0
_PIECE = 1 << 30


class SharingRefused(CourseError):
    """This driver, or the sandbox on this kernel, cannot share device memory between processes."""


class Memory(Protocol):
    """`support` is the number of the trusted library in the worker."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Files that the worker must keep open."""
        ...

    def open(self, worker: Worker, support: int, buffer: SharedBuffer) -> int:
        """The buffer's address in the worker."""
        ...

    def before(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None: ...

    def after(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None: ...

    def close(self, worker: Worker, support: int, theirs: int) -> None: ...


class Shared:
    """The worker opens this process's memory and cannot forge what this process reads."""

    descriptors: tuple[int, ...] = ()

    def open(self, worker: Worker, support: int, buffer: SharedBuffer) -> int:
        error = worker.call(support, "open_memory", ["u64"] * 8, buffer.handle(), _SECONDS)
        if error:
            raise SharingRefused(f"device memory cannot be shared: {error_name(error)}")
        return _address(worker, support)

    def before(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None:
        pass

    def after(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None:
        pass

    def close(self, worker: Worker, support: int, theirs: int) -> None:
        worker.call(support, "close_memory", ["u64"], [theirs], _SECONDS)


class Copied:
    """The worker's own memory, copied from and to a memory file that both processes hold open."""

    def __init__(self) -> None:
        self._file = os.memfd_create("course-exchange", os.MFD_CLOEXEC)
        self._theirs: dict[int, int] = {}  # by our address

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self._file,)

    def open(self, worker: Worker, support: int, buffer: SharedBuffer) -> int:
        if error := worker.call(support, "own_memory", ["u64"], [buffer.bytes], _SECONDS):
            raise CourseError(f"the GPU has no memory for another buffer: {error_name(error)}")
        self._theirs[buffer.address] = _address(worker, support)
        return self._theirs[buffer.address]

    def before(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None:
        for buffer in buffers:
            if buffer.address in self._theirs:
                os.ftruncate(self._file, 0)
                write_all(self._file, buffer.read_bytes())
                self._copy(worker, support, "copy_to_device", buffer)

    def after(self, worker: Worker, support: int, buffers: Iterable[SharedBuffer]) -> None:
        for buffer in buffers:
            if buffer.address in self._theirs:
                os.ftruncate(self._file, buffer.bytes)  # it has the size of the last copied buffer
                self._copy(worker, support, "copy_from_device", buffer)
                # Read, not mapped: the worker could truncate the file under a mapping.
                data = read_all(self._file, buffer.bytes)
                if len(data) != buffer.bytes:
                    raise CourseError("the worker returned less than a whole buffer")
                buffer.write_bytes(data)

    def close(self, worker: Worker, support: int, theirs: int) -> None:
        self._theirs = {ours: address for ours, address in self._theirs.items() if address != theirs}
        worker.call(support, "device_release", ["u64"], [theirs], _SECONDS)

    def _copy(self, worker: Worker, support: int, direction: str, buffer: SharedBuffer) -> None:
        values = [self._file, self._theirs[buffer.address], buffer.bytes]
        if error := worker.call(support, direction, ["i32", "u64", "u64"], values, _SECONDS):
            raise CourseError(f"a buffer could not be copied: {error_name(error)}")


def write_all(file: int, data: bytes, offset: int = 0) -> None:
    """In several calls if needed: one writes 2 GiB at most."""
    view = memoryview(data)
    at = 0
    while at < len(view):
        at += os.pwrite(file, view[at : at + _PIECE], offset + at)


def read_all(file: int, size: int, offset: int = 0) -> bytes:
    out = bytearray()
    while len(out) < size:
        piece = os.pread(file, min(_PIECE, size - len(out)), offset + len(out))
        if not piece:
            break
        out += piece
    return bytes(out)


def _address(worker: Worker, support: int) -> int:
    low, high = (worker.call(support, part, [], [], _SECONDS) for part in ("address_low", "address_middle"))
    return low | high << 31
