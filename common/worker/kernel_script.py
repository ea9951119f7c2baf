"""The process that runs the Triton kernels of a student's Python file, and nothing else of it. The native
worker is its main script: it loads this file and calls main().

It obeys as the native worker does. What it loads is a text of kernels alone. Between two orders it serves
launches that come from the process with the rest of the file, over the socket LAUNCHES_FD names: a line of
JSON each, with the kernel's name, the grid and the arguments. Tensors in the given memory are described by
their offsets, and stores go there directly; others travel by value. The other process never learns what
kernels have read or computed: it has other values in that memory, and for what kernels stored in its own
tensors it gets random bytes, by which their contents are found here when the tensor comes again.
"""

from __future__ import annotations

import ast
import base64
import ctypes
import json
import os
import select
import socket
import sys
from types import ModuleType
from typing import Any

os.environ.setdefault("HOME", os.environ["TMPDIR"])
os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(os.environ["TMPDIR"], "triton"))

import torch
import triton
import triton.language

torch.set_num_threads(1)
_MOST_TEXT = 400
_MOST_MESSAGE = 256 << 20
_MOST_REGIONS = 256  # tensors of the other process that kernels store in
_MAP_SHARED, _MAP_FIXED_NOREPLACE, _READ_WRITE = 1, 0x100000, 3
_OF_TRITON = frozenset({"cdiv", "next_power_of_2", "language"})
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


native = sys.modules["__main__"]


class Kernels:
    """The kernels of a file. They reach Triton's language and nothing beyond it."""

    def __init__(self, path: str) -> None:
        self.new_call: NewCall | None = None
        self.module = native.module_at(path, "kernels")
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for kernel in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            parts = [part for statement in kernel.body for part in ast.walk(statement)]
            attributes = [part for part in parts if isinstance(part, ast.Attribute)]
            inner = {id(part.value) for part in attributes}
            for part in parts:
                if isinstance(part, ast.Attribute | ast.Name) and id(part) not in inner:
                    self._check(part, kernel.name)

    def _check(self, part: ast.expr, kernel: str) -> None:
        """Raises Refused where a chain of attributes leads out of Triton's language."""
        names: list[str] = []
        while isinstance(part, ast.Attribute):
            names.insert(0, part.attr)
            part = part.value
        at = getattr(self.module, part.id, None) if isinstance(part, ast.Name) else None
        if at is None or isinstance(at, int | float | triton.language.constexpr):
            return  # of a value inside the kernel, or of a number
        shown = ".".join([part.id, *names]) if isinstance(part, ast.Name) else ""
        for name in names:
            if not _may_be_asked(at, name):
                raise native.Refused(f"{kernel} uses {shown}, which is not of Triton's language")
            at = getattr(at, name, None)
        if not _is_of_the_language(at):
            raise native.Refused(
                f"{kernel} uses {shown}, which is not a function or type of Triton's language"
            )


def _is_of_the_language(value: Any) -> bool:
    """A kernel, a type, or a function or class that Triton itself defines; no module."""
    if isinstance(
        value, triton.runtime.interpreter.InterpretedFunction | triton.language.dtype | int | float
    ):
        return True
    return callable(value) and str(getattr(value, "__module__", "")).startswith(("triton.", "kernels"))


def _may_be_asked(module: Any, name: str) -> bool:
    if not isinstance(module, ModuleType):
        return isinstance(module, triton.language.dtype)
    return name in _OF_TRITON if module is triton else module.__name__.startswith("triton.language")


class Memory:
    """The shared file, mapped where the other process has it: a table of addresses means the same here."""

    def __init__(self, file: int, base: int, size: int) -> None:
        self.size = size
        self.address = _libc.mmap(base, size, _READ_WRITE, _MAP_SHARED | _MAP_FIXED_NOREPLACE, file, 0)
        if self.address in (None, ctypes.c_void_p(-1).value):
            self.address = _libc.mmap(None, size, _READ_WRITE, _MAP_SHARED, file, 0)

    def tensor(self, item: dict[str, Any]) -> torch.Tensor:
        kind = getattr(torch, item["dtype"])
        if item["offset"] < 0 or item["offset"] + item["bytes"] > self.size:
            raise ValueError("a tensor lies outside of its memory")
        room = (ctypes.c_char * max(1, item["bytes"])).from_address(self.address + item["offset"])
        count = item["bytes"] // kind.itemsize
        flat = torch.frombuffer(room, dtype=kind, count=count) if count else torch.empty(0, dtype=kind)
        return flat.as_strided(item["shape"], item["strides"])


class Stored:
    """What kernels have stored in tensors of the other process, by the random bytes that it has instead."""

    def __init__(self) -> None:
        self._regions: list[tuple[int, bytearray, bytearray]] = []  # address, random bytes, contents

    def find(self, address: int, shown: bytes) -> bytearray | None:
        """The contents, where the other process has left its bytes as they were."""
        for first, tokens, contents in self._regions:
            begin = address - first
            if begin >= 0 and tokens[begin : begin + len(shown)] == shown:
                return contents[begin : begin + len(shown)]
        return None

    def put(self, address: int, contents: bytes) -> bytes:
        """Keep them; the bytes to show instead."""
        tokens, end = os.urandom(len(contents)), address + len(contents)
        for first, known, kept in self._regions:
            if first <= address and end <= first + len(known):
                known[address - first : end - first] = tokens
                kept[address - first : end - first] = contents
                return tokens
        apart = [r for r in self._regions if r[0] + len(r[1]) <= address or r[0] >= end]
        self._regions = [*apart[-_MOST_REGIONS:], (address, bytearray(tokens), bytearray(contents))]
        return tokens


class Launches:
    """The other process's requests."""

    def __init__(self, descriptor: int, file: int) -> None:
        self._peer = socket.socket(fileno=descriptor)
        self._stream = self._peer.makefile("rwb")
        self._file = file
        self._memory: dict[tuple[int, int], Memory] = {}
        self._stored = Stored()
        self._failed = False
        self.kernels: Kernels | None = None
        self.descriptor = descriptor

    def serve_one(self) -> bool:
        line = self._stream.readline(_MOST_MESSAGE)
        if not line:
            return False
        try:
            if self._failed:
                raise ValueError("a kernel has failed in this call: it launches no more")
            answer = self._launch(json.loads(line))
        except Exception as problem:
            self._failed = True  # to go on would show, launch by launch, what a kernel has read
            answer = {"problem": f"{type(problem).__name__}: {str(problem)[:_MOST_TEXT]}"}
        self._stream.write(json.dumps(answer).encode() + b"\n")
        self._stream.flush()
        return True

    def _travelled(self, item: dict[str, Any]) -> torch.Tensor:
        """A tensor of the other process: with what kernels have stored there, or else with what came."""
        shown = base64.b64decode(item["data"])
        raw = self._stored.find(item["address"], shown) or bytearray(shown) or bytearray(8)
        return torch.frombuffer(raw, dtype=getattr(torch, item["dtype"]))

    def new_call(self) -> None:
        self._failed = False

    def _launch(self, asked: dict[str, Any]) -> dict[str, Any]:
        key = (int(asked["base"]), os.fstat(self._file).st_size)
        memory = self._memory.get(key)
        if memory is None:
            memory = self._memory[key] = Memory(self._file, *key)
        kernel = getattr(self.kernels.module, asked["kernel"], None) if self.kernels is not None else None
        if not isinstance(kernel, triton.runtime.interpreter.InterpretedFunction):
            raise ValueError(f"{asked['kernel']} is not a kernel of the file: define it at its top level")
        travelled: list[tuple[dict[str, Any], torch.Tensor]] = []

        def value(item: Any) -> Any:
            if isinstance(item, list):
                return tuple(map(value, item))
            if not isinstance(item, dict):
                return item
            if "type" in item:
                named_type = getattr(triton.language, item["type"], None)
                if not isinstance(named_type, triton.language.dtype):
                    raise ValueError(f"{item['type']} cannot be passed to a kernel")
                return named_type
            if "offset" in item:
                return memory.tensor(item)
            flat = self._travelled(item)
            travelled.append((item, flat))
            return flat.as_strided(item["shape"], item["strides"])

        grid = tuple(int(size) for size in asked["grid"])
        given = {**dict(zip(kernel.arg_names, asked["arguments"], strict=False)), **asked["named"]}
        given = {name: value(item) for name, item in given.items() if name in kernel.arg_names}
        for name, annotation in kernel.fn.__annotations__.items():
            if "constexpr" in str(annotation) and _holds_a_tensor(given.get(name)):
                raise ValueError(f"{name} is a tl.constexpr and cannot be a tensor")
        kernel[grid](**given)
        # Of all of them: which ones a kernel has changed would tell what it has read.
        back = {
            item["number"]: base64.b64encode(self._stored.put(item["address"], contents)).decode()
            for item, flat in travelled
            if item["data"] and (contents := flat.view(torch.uint8).numpy().tobytes())
        }
        return {"back": back}


class NewCall:
    """An entry point: a call begins."""

    def __init__(self, launches: Launches) -> None:
        self._launches = launches
        self.argtypes: list[Any] = []
        self.restype: Any = None

    def __call__(self) -> int:
        self._launches.new_call()
        return 0


def _holds_a_tensor(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_holds_a_tensor, value))
    return isinstance(value, torch.Tensor)


def main() -> None:
    """Obey orders and serve launches, whichever comes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    launches = Launches(int(os.environ["LAUNCHES_FD"]), int(os.environ["TENSORS_FD"]))

    def open_kernels(path: str) -> Kernels:
        launches.kernels = Kernels(path)
        launches.kernels.new_call = NewCall(launches)
        return launches.kernels

    libraries: list[Any] = []
    wanted = [control.fileno(), launches.descriptor]
    with control.makefile("rw", encoding="utf-8") as stream:
        while True:
            ready, _, _ = select.select(wanted, [], [])
            if launches.descriptor in ready and not launches.serve_one():
                wanted.remove(launches.descriptor)
            if control.fileno() not in ready:
                continue
            line = stream.readline()
            if not line:
                return
            stream.write(native.answered(line, libraries, control, open_kernels))
            stream.flush()
