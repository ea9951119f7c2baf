"""Sessions on a CUDA device. This process owns the memory and opens it to the worker, so that what comes back
is what the device holds, not what the worker says it does."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from common.errors import CourseError
from common.gpu.integrity import changed_code
from common.gpu.support import SharedBuffer, library_path
from common.sandbox.policy import Walls
from common.virtual_gpu.error_names import error_name
from common.virtual_gpu.worker_process import (
    Order,
    Worker,
    WorkerDied,
    WorkerMisbehaved,
    WorkerStopped,
    WorkerTimeout,
)
from grader.device import Outcome
from grader.device.gpu_memory import Copied, Memory, Shared, SharingRefused
from grader.spec import At, Call, Scalar

_OUTPUT = 16 << 10


@dataclass(frozen=True)
class Timing:
    """One timed call: until its stream was done, and until the whole device was."""

    seconds: float
    settled: float


class GpuSession:
    """One library in a worker process of its own, with a trusted library beside it."""

    def __init__(self, library: Path) -> None:
        self._path = library
        self._worker: Worker | None = None
        self._support = self._library = -1
        self._memory: Memory = Shared()
        self._opened: dict[int, int] = {}  # our address -> the worker's
        self._printed = ""

    def __enter__(self) -> GpuSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def output(self) -> str:
        text = self._printed + (self._worker.output() if self._worker is not None else "")
        return text[-_OUTPUT:]

    @property
    def threads(self) -> int:
        """How many threads the worker has now: one that outlives a call works on after its time was taken."""
        return self._worker.threads() if self._worker is not None else 0

    def close(self) -> None:
        if self._worker is not None:
            self._printed = self.output
            self._worker.close()
        self._worker = None
        self._opened = {}

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        buffers = {name: SharedBuffer(tensor) for name, tensor in call.buffers.items()}
        try:
            outcome = self.call(entry, call, buffers, seconds)
            after = {name: buffer.tensor().clone() for name, buffer in buffers.items()}
            self.forget(buffers)
        finally:
            for buffer in buffers.values():
                buffer.free()
        return Outcome(outcome.reason, outcome.message, after)

    def call(
        self, entry: str, call: Call, buffers: Mapping[str, SharedBuffer], seconds: float, timed: bool = False
    ) -> Outcome:
        """Call on buffers that stay. When `timed`, `timing` holds the times afterwards."""
        import torch

        torch.cuda.synchronize()
        try:
            worker = self._ready()
            arguments = self._arguments(worker, call, buffers)
            self._memory.before(worker, self._support, buffers.values())
            types, values = [a for a, _ in arguments], [b for _, b in arguments]
            orders = [Order(self._library, entry, types, values)]
            if timed:
                orders = [
                    Order(self._support, "begin_timing"),
                    *orders,
                    Order(self._support, "end_timing"),
                    Order(self._support, "stop_nanoseconds"),
                    Order(self._support, "settled_nanoseconds"),
                ]
            else:
                orders.append(Order(self._support, "settle"))
            answers = worker.calls(orders, entry, seconds)
            self._memory.after(worker, self._support, buffers.values())
        except SharingRefused:
            self.close()
            self._memory = Copied()
            return self.call(entry, call, buffers, seconds, timed)
        except WorkerTimeout:
            self.close()
            return Outcome("timeout", f"{entry} did not return within {seconds:g} s")
        except WorkerStopped as problem:
            self.close()
            return Outcome("limit", f"{entry} was ended: it {problem.reason}")
        except WorkerDied as problem:
            self.close()
            return Outcome("crash", f"{entry} ended its process with {problem.ending}")
        except WorkerMisbehaved as problem:
            self.close()
            return Outcome("call", str(problem))
        except CourseError as problem:
            self.close()
            return Outcome("entry", str(problem))
        code = next((answer for answer in answers[: 3 if timed else 2] if answer != 0), 0)
        if code != 0:
            self.close()
            return Outcome("error", f"{entry} answered {error_name(code)} ({code})")
        if timed:
            self.timing = Timing(answers[3] * 1e-9, answers[4] * 1e-9)
        return Outcome()

    def time_many(
        self, entry: str, call: Call, buffers: Mapping[str, SharedBuffer], seconds: float, count: int
    ) -> tuple[float, float] | None:
        """Seconds a call, by this process's clock and by the median of events, over `count` calls in a row.

        The worker is asked once for all, so that the way there and back hardly shows. What it takes to empty
        the cache and keep the time differs from process to process: it is measured alone and taken off.
        None when it failed.
        """
        import torch

        torch.cuda.synchronize()
        try:
            worker = self._ready()
            arguments = self._arguments(worker, call, buffers)
            types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
            begin, end = Order(self._support, "begin_timing"), Order(self._support, "end_timing")
            read = Order(self._support, "stop_nanoseconds")
            one = Order(self._library, entry, types, values)
            empty, _ = _clocked(worker, [begin, end, read] * count, entry, seconds)
            host, answers = _clocked(worker, [begin, one, end, read] * count, entry, seconds)
        except CourseError:
            self.close()
            return None
        return (host - empty) / count, statistics.median(answers[3::4]) * 1e-9

    @property
    def changed_code(self) -> str:
        """A library whose code was changed in the worker: the one that keeps the time, or the driver's."""
        if self._worker is None:
            return ""
        return changed_code(self._worker.pid, (library_path().name, "libcuda.so"))

    def waits_for_stream(
        self, entry: str, call: Call, buffers: Mapping[str, SharedBuffer], seconds: float
    ) -> bool:
        """Whether a call on a stream that is held leaves its outputs alone until the stream goes on.

        True also where nothing could be seen: a call that fails is judged elsewhere.
        """
        import torch

        torch.cuda.synchronize()
        try:
            worker = self._ready()
            arguments = self._arguments(worker, call, buffers)
            self._memory.before(worker, self._support, buffers.values())
            outputs = [
                Order(self._support, "digest_memory", ["u64", "u64"], [self._opened[b.address], b.bytes])
                for b in (buffers[name] for name in call.outputs)
            ]
            types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
            answers = worker.calls(
                [
                    *outputs,
                    Order(self._support, "hold_stream"),
                    Order(self._library, entry, types, values),
                    Order(self._support, "wait_a_moment"),
                    *outputs,
                    Order(self._support, "stream_is_held"),
                    Order(self._support, "settle"),
                ],
                entry,
                seconds,
            )
        except CourseError:
            self.close()
            return True
        before, after = answers[: len(outputs)], answers[-2 - len(outputs) : -2]
        held = answers[-2] == 1
        return not held or before == after

    def forget(self, buffers: Mapping[str, SharedBuffer]) -> None:
        """Close memory in the worker before it is given back."""
        if self._worker is None:
            return
        for buffer in buffers.values():
            theirs = self._opened.pop(buffer.address, None)
            if theirs is not None:
                try:
                    self._memory.close(self._worker, self._support, theirs)
                except CourseError:
                    self.close()
                    return

    def _ready(self) -> Worker:
        if self._worker is None:
            self._worker = Worker(
                None,
                walls=Walls.gpu(),
                libraries=[library_path(), self._path],
                descriptors=self._memory.descriptors,
            )
            self._support = self._worker.load(library_path())
            self._library = self._worker.load(self._path)
        return self._worker

    def _arguments(
        self, worker: Worker, call: Call, buffers: Mapping[str, SharedBuffer]
    ) -> list[tuple[str, int | float]]:
        out: list[tuple[str, int | float]] = []
        for argument in call.arguments:
            if isinstance(argument, Scalar):
                out.append((argument.type, argument.value))
            elif isinstance(argument, At):
                tensor = call.buffers[argument.buffer]
                theirs = self._open(worker, buffers[argument.buffer]) if tensor.numel() > 0 else 0
                out.append(("pointer", theirs + argument.offset * tensor.element_size() if theirs else 0))
        return out

    def _open(self, worker: Worker, buffer: SharedBuffer) -> int:
        if buffer.address not in self._opened:
            self._opened[buffer.address] = self._memory.open(worker, self._support, buffer)
        return self._opened[buffer.address]


def _clocked(worker: Worker, orders: list[Order], what: str, seconds: float) -> tuple[float, list[int]]:
    """What the worker answered, and how long that took by this process's clock."""
    started = time.perf_counter()
    answers = worker.calls(orders, what, seconds)
    return time.perf_counter() - started, answers
