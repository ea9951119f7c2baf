"""Sessions for Python files without a GPU: CPU tensors in a memory file, Triton kernels interpreted."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from common.core.errors import CourseError, MachineOverloaded
from common.worker.process import Order, Worker, WorkerDied, WorkerMisbehaved, WorkerTimeout
from common.worker.python_launch import SCRIPT, interpreted, with_launches
from grader.devices.arguments import judge_answer
from grader.devices.failures import CallFailed, failure, retried
from grader.devices.on_gpu.memory import read_all, write_all
from grader.devices.scratch import filled
from grader.devices.session import Outcome
from grader.python_track.calls import explained, python_call
from grader.python_track.kernel_worker import Kernels
from grader.spec import Call, PythonTrack

if TYPE_CHECKING:
    import torch

_OUTPUT = 16 << 10
_ALIGNMENT = 256
_KERNELS_ALONE = ". In a file with Triton kernels, only what kernels store counts"
RAISES = "raises"  # the reason of a call that ended in a Python exception


class InterpretedSession:
    """One file in a worker. This process owns and reads the tensors' memory: it does not trust the worker."""

    def __init__(self, source: Path, track: PythonTrack, *, in_triton: bool = False) -> None:
        """With `in_triton` only what kernels store counts: they run in a second worker, of which the file's
        other code has no part. The first one has memory of its own, which it cannot write, with other values
        in it: what it computes from them and passes to a kernel is not the answer."""
        self._source, self._track, self._in_triton = source, track, in_triton
        self._file = os.memfd_create("course-tensors", os.MFD_CLOEXEC)
        self._shown = os.memfd_create("course-other-values", os.MFD_CLOEXEC) if in_triton else self._file
        self._given = _read_only(self._shown) if in_triton else self._file
        self._kernels = Kernels(source, self._file) if in_triton else None
        self._worker: Worker | None = None
        self._library = -1
        self._printed = ""
        self._spent = 0.0  # by workers that are closed

    def __enter__(self) -> InterpretedSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        for descriptor in {self._file, self._shown, self._given}:
            os.close(descriptor)

    @property
    def output(self) -> str:
        text = self._printed + (self._worker.output() if self._worker is not None else "")
        return text[-_OUTPUT:]

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        """A call that got too little CPU time is repeated once; then MachineOverloaded is raised."""
        return retried(lambda: self._run(call, seconds))

    def _run(self, call: Call, seconds: float) -> Outcome:
        before = self._seconds()
        outcome = self._called(call, seconds)
        return dataclasses.replace(outcome, seconds=self._seconds() - before)

    def _seconds(self) -> float:
        """CPU time of the worker and of this thread, which reads the outputs of a call."""
        return time.thread_time() + self._spent + (self._worker.seconds if self._worker is not None else 0.0)

    def _called(self, call: Call, seconds: float) -> Outcome:
        import torch

        offsets: dict[str, int] = {}
        size = 0
        for name, tensor in call.buffers.items():
            offsets[name] = size
            held = math.prod(call.shape(name)) * tensor.element_size()
            size += -(-held // _ALIGNMENT) * _ALIGNMENT
        size = max(size, _ALIGNMENT)
        for file in {self._file, self._shown}:
            os.ftruncate(file, 0)
            os.ftruncate(file, size)
        for name, offset in offsets.items():
            for begin, data in _pieces(call, name):
                write_all(self._file, data, offset + begin)
                if self._shown != self._file:
                    write_all(self._shown, _other_values(data, call.buffers[name]), offset + begin)
        reason = message = ""
        function = self._track.function
        try:
            code = self._call(call, offsets, size, seconds)
            reason, message = judge_answer(function, call, code)
        except CallFailed as problem:
            reason, message = problem.reason, str(problem)
        after = {}
        for name, tensor in call.kept.items():
            data = b"".join(
                read_all(self._file, len(piece), offsets[name] + begin)
                for begin, piece in _pieces(call, name)
            )
            if len(data) != tensor.numel() * tensor.element_size():
                return Outcome("call", "the worker cut its memory short", call.kept)
            raw = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]
            after[name] = raw.view(tensor.dtype).view(tensor.shape)
        return Outcome(reason, message, after, hint=_KERNELS_ALONE if self._in_triton else "")

    def _call(self, call: Call, offsets: dict[str, int], size: int, seconds: float) -> int:
        def place(name: str, offset: int) -> dict[str, int]:
            return {"offset": offsets[name] + offset, "file": self._given, "size": size}

        function = self._track.function
        try:
            worker = self._ready()
            if self._kernels is not None:
                self._kernels.new_call()
            order = python_call(self._track, call, place, None)
            (code,) = worker.calls([Order(self._library, function, ["python"], [order])], function, seconds)
            return code
        except CourseError as problem:
            if isinstance(problem, WorkerDied | WorkerTimeout | WorkerMisbehaved):
                self.close()
            raise failure(problem, function, seconds, RAISES) from problem

    def _ready(self) -> Worker:
        if self._worker is None:
            walls, descriptors, helpers = interpreted(), [self._given], []
            if self._kernels is not None:
                descriptors.append(launches := self._kernels.start())
                helpers = self._kernels.pids
                walls = with_launches(walls, launches)
            try:
                worker = self._worker = Worker(
                    None,
                    walls=walls,
                    libraries=[self._source],
                    descriptors=descriptors,
                    script=SCRIPT,
                    helpers=helpers,
                )
            finally:
                if self._kernels is not None:
                    os.close(launches)
            try:
                self._library = worker.load(self._source)
            except CourseError as problem:
                self.close()
                if isinstance(problem, WorkerTimeout) and problem.starved:
                    raise MachineOverloaded(f"loading {self._track.file}", problem.starved) from problem
                raise CallFailed("load", str(explained(problem))) from problem
        return self._worker

    def close(self) -> None:
        if self._worker is not None:
            self._spent += self._worker.seconds
            self._printed = self.output
            self._worker.close()
        if self._kernels is not None:
            self._spent += self._kernels.close()
        self._worker = None


def _pieces(call: Call, name: str) -> list[tuple[int, bytes]]:
    """The buffer's bytes before the call, and where in its memory they begin: by rows if these lie apart."""
    import torch

    if name not in call.apart:
        return [(0, filled(call, name).contiguous().view(torch.uint8).numpy().tobytes())]
    rows = call.buffers[name].contiguous()
    distance = call.apart[name] * rows.element_size()
    return [(number * distance, row.view(torch.uint8).numpy().tobytes()) for number, row in enumerate(rows)]


def _other_values(data: bytes, like: torch.Tensor) -> bytes:
    """As many elements, each drawn from the tensor's own: valid, in range, and of no use for the answer. They
    follow from the data, so that a grading can be repeated."""
    import torch

    seed = int.from_bytes(hashlib.sha256(data).digest()[:8]) >> 1
    elements = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]
    elements = elements.view(-1, like.element_size())
    drawn = torch.randint(
        max(1, len(elements)), (len(elements),), generator=torch.Generator().manual_seed(seed)
    )
    return elements[drawn].numpy().tobytes()


def _read_only(file: int) -> int:
    """Another descriptor of the memory, for a process that may not write it: nor can it open the file again,
    since nobody has that right any more who has not opened it yet."""
    made = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
    os.fchmod(file, 0o400)
    return made
