"""Sessions on the virtual GPU: engine, worker and this process cannot access each other's memory."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from common.build.engine.error_names import error_name
from common.core.cpu_time import COUNTED, OutOfTime
from common.core.errors import CourseError, MachineOverloaded
from common.sandbox.policy import Walls
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from common.virtual_gpu.report import Launch
from common.virtual_gpu.tensor import DeviceTensor, dtype_name
from common.virtual_gpu.wire import EngineDied
from common.worker.process import WorkerTimeout
from grader.devices.arguments import arguments, judge_answer
from grader.devices.captures import require_captured
from grader.devices.failures import CallFailed, failure, retried
from grader.devices.on_virtual.given_stream import OFF_STREAM, library_path, out_of_order, without_marks
from grader.devices.session import Outcome
from grader.spec import Call

if TYPE_CHECKING:
    import torch

# For an engine that measures: other sessions run the checks.
MEASURING = {"memory": True, "race": False, "init": False, "sync": False, "async": False}
_KERNEL_SECONDS = 20  # the engine's limit for one launch; beyond it the kernel hangs
_OUTPUT = 16 << 10  # characters of a submission's output that are kept


class VirtualSession:
    """One library on its own engine, which restarts after a crash or a sticky error."""

    def __init__(
        self,
        library: Path,
        *,
        options: Mapping[str, object] | None = None,
        resources: Path | None = None,
        profile: str = DEFAULT_PROFILE,
    ) -> None:
        self._path = library
        self._options = {"max_seconds": _KERNEL_SECONDS, **(options or {})}
        self._resources = resources
        self._profile = profile
        self._gpu: VirtualGpu | None = None
        self._library: Library | None = None
        self._trusted: Library | None = None
        self._stream = 0  # the stream that entry points get
        self._tensors: dict[str, DeviceTensor] = {}
        self._printed = ""
        self._spent = 0.0  # CPU time of closed devices
        self.replayed: tuple[Launch, ...] = ()  # launches of the latest replay of a graph

    def __enter__(self) -> VirtualSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def output(self) -> str:
        text = self._printed + (self._gpu.output if self._gpu is not None else "")
        return text[-_OUTPUT:]

    def close(self) -> None:
        if self._gpu is not None:
            self._spent += self._gpu.seconds
            self._printed = self.output
            self._gpu.close()
        self._gpu = self._library = self._trusted = None
        self._tensors = {}

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        """Place the buffers, call, and read the device's memory. A call that got too little CPU time is
        repeated once; then MachineOverloaded is raised."""
        return retried(lambda: self._run(entry, call, seconds))

    def _run(self, entry: str, call: Call, seconds: float) -> Outcome:
        before = self._seconds()
        outcome = self._called(entry, call, seconds)
        return dataclasses.replace(outcome, seconds=self._seconds() - before)

    def _seconds(self) -> float:
        """CPU time of engine, worker and this thread, which reads a call's report."""
        return time.thread_time() + self._spent + (self._gpu.seconds if self._gpu is not None else 0.0)

    def _called(self, entry: str, call: Call, seconds: float) -> Outcome:
        gpu, trusted = self._ready()
        try:
            library = self._library = self._library or gpu.load(self._path)
        except CourseError as problem:
            self.close()
            if isinstance(problem, WorkerTimeout) and problem.starved:
                raise MachineOverloaded("loading the library", problem.starved) from problem
            return Outcome("load", str(problem).replace(str(self._path.absolute()), "the library"))
        try:
            tensors = self._place(gpu, call)
        except CourseError as problem:
            self.close()
            return Outcome("device", f"the device has no memory left for this call's buffers: {problem}")
        reason = message = ""
        try:
            where = {name: tensor.address for name, tensor in tensors.items()}
            placed = arguments(call, lambda name: where.get(name, 0), self._stream)
            orders = [trusted.order("begin_call"), library.order(entry, *placed), trusted.order("end_call")]
            _, returned, _ = gpu.calls(orders, entry, seconds)
            settled = gpu.synchronise(seconds)
            if settled:  # the engine dropped the work of a program that has ended, and reports only that
                gpu.require_worker(entry)
            reason, message = judge_answer(entry, call, returned or settled)
        except OutOfTime as over:  # the call returned, but its launches take too long
            self.close()
            if over.starved:
                raise MachineOverloaded(f"what {entry} launched", over.got) from over
            message = f"what {entry} launched did not end within {seconds:g} s {COUNTED}: launch less"
            return Outcome("timeout", message)
        except EngineDied as problem:
            self.close()
            return Outcome("device", f"the virtual GPU did not survive this call: {problem}")
        except CourseError as problem:
            try:
                failed = failure(problem, entry, seconds)
            except MachineOverloaded:
                self.close()
                raise
            reason, message = failed.reason, str(failed)
        after = self._after(call)
        try:
            report = gpu.report()
        except CourseError as problem:
            self.close()
            return Outcome("device", f"the virtual GPU did not survive this call: {problem}", after)
        if not reason and (lack := out_of_order(report, self._stream)):
            reason, message = OFF_STREAM, lack
        if reason or report.sticky_error:
            self.close()
        else:
            gpu.reset()
        return Outcome(reason, message, after, without_marks(report))

    def capture(self, entry: str, call: Call, seconds: float) -> None:
        """Capture the call that has just run, on the same memory. Raises CallFailed."""

        def orders(gpu: VirtualGpu, library: Library, trusted: Library) -> list[int]:
            (stream,) = gpu.calls([trusted.order("captured_stream")], entry)
            where = {name: tensor.address for name, tensor in self._tensors.items()}
            placed = arguments(call, lambda name: where.get(name, 0), stream)
            made = [trusted.order("begin_capture"), library.order(entry, *placed)]
            return gpu.calls(
                [*made, trusted.order("end_capture"), trusted.order("captured_nodes")], entry, seconds
            )

        *codes, nodes = self._asked(entry, seconds, orders)
        require_captured(entry, codes, nodes)

    def replay(self, entry: str, call: Call, seconds: float) -> dict[str, torch.Tensor]:
        """Replay the captured call on the values of another call of the same sizes; the memory afterwards.
        Raises CallFailed."""
        for name, tensor in call.kept.items():
            if name in self._tensors:
                self._tensors[name].torch().copy_(tensor)

        def orders(gpu: VirtualGpu, library: Library, trusted: Library) -> list[int]:
            return gpu.calls([trusted.order("launch_graph")], entry, seconds)

        (code,) = self._asked(entry, seconds, orders)
        if code:
            raise CallFailed("error", f"a replay of {entry} returned {error_name(code)} ({code})")
        return self._after(call)

    def _asked(
        self,
        entry: str,
        seconds: float,
        orders: Callable[[VirtualGpu, Library, Library], list[int]],
    ) -> list[int]:
        """The orders' return codes, once all work that they queued is done. Raises CallFailed."""
        if self._gpu is None or self._library is None or self._trusted is None:
            raise CallFailed("call", f"{entry} was not run before")
        try:
            codes = orders(self._gpu, self._library, self._trusted)
            settled = self._gpu.synchronise(seconds)
            self.replayed = self._gpu.report().launches
            self._gpu.reset()
        except OutOfTime as over:
            self.close()
            if over.starved:
                raise MachineOverloaded(f"a graph of {entry}", over.got) from over
            message = f"a graph of {entry} did not end within {seconds:g} s {COUNTED}"
            raise CallFailed("timeout", message) from over
        except CourseError as problem:
            self.close()
            raise failure(problem, entry, seconds) from problem
        return codes if not settled else [settled, *codes[1:]]

    def _after(self, call: Call) -> dict[str, torch.Tensor]:
        """The contents of the device's memory."""
        return {
            name: self._tensors[name].torch().clone() if name in self._tensors else tensor.clone()
            for name, tensor in call.kept.items()
        }

    def _place(self, gpu: VirtualGpu, call: Call) -> dict[str, DeviceTensor]:
        """The buffers on the device. If shapes are those of the previous call, addresses stay the same: a
        server reuses its memory, and an answer cached by address would be wrong.

        Scratch is newly allocated for each call, so that the device finds reads before writes. A buffer
        without elements has no memory: its argument is a null pointer.
        """
        buffers = {name: tensor for name, tensor in call.buffers.items() if tensor.numel() > 0}
        placed = [(t.name, t.shape, t.dtype) for t in self._tensors.values()]
        if placed != [(name, tuple(t.shape), dtype_name(t.dtype)) for name, t in buffers.items()]:
            while self._tensors:
                self._tensors.popitem()[1].free()
            for name, tensor in buffers.items():
                self._tensors[name] = gpu.tensor(name, tensor.shape, tensor.dtype)
        for name, tensor in buffers.items():
            if name in call.scratch:
                self._tensors[name].free()
                self._tensors[name] = gpu.tensor(name, tensor.shape, tensor.dtype)
                self._tensors[name].poison()
                continue
            self._tensors[name].torch().copy_(tensor)
            self._tensors[name].mark_initialised()
        return self._tensors

    def _start(self) -> VirtualGpu:
        return VirtualGpu(
            self._profile,
            self._options,
            self._resources,
            walls=Walls.virtual(),
            libraries=[library_path(), self._path],
        )

    def _ready(self) -> tuple[VirtualGpu, Library]:
        """The device with our own library. If they do not start, the machine is at fault."""
        try:
            gpu = self._gpu = self._gpu or self._start()
            trusted = self._trusted = self._trusted or self._make_stream(gpu)
        except WorkerTimeout as problem:
            self.close()
            raise MachineOverloaded("the virtual GPU", problem.starved or str(problem)) from problem
        return gpu, trusted

    def _make_stream(self, gpu: VirtualGpu) -> Library:
        """Make the stream before the submission's library is loaded, so that it cannot interfere."""
        trusted = gpu.load(library_path())
        (self._stream,) = gpu.calls([trusted.order("given_stream")], "making a stream")
        return trusted
