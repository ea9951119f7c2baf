"""Sessions on the virtual GPU: engine, worker and this process, each out of the others' reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from common.errors import CourseError
from common.sandbox.policy import Walls
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.engine import DEFAULT_PROFILE
from common.virtual_gpu.tensor import DeviceTensor, dtype_name
from common.virtual_gpu.wire import EngineDied
from common.virtual_gpu.worker_process import WorkerDied, WorkerMisbehaved, WorkerStopped, WorkerTimeout
from grader.device import Outcome
from grader.device.arguments import arguments, judge_answer
from grader.spec import Call

# An engine that measures: the checks have had their say before.
MEASURING = {"memory": True, "race": False, "init": False, "sync": False, "async": False}
_KERNEL_SECONDS = 20  # of the engine for one launch: then it hangs
_OUTPUT = 16 << 10  # characters of a submission's output that are kept


class VirtualSession:
    """One library on an engine of its own. After a crash or a sticky error it starts anew by itself."""

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
        self._tensors: dict[str, DeviceTensor] = {}
        self._printed = ""

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
            self._printed = self.output
            self._gpu.close()
        self._gpu = self._library = None
        self._tensors = {}

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        """Place the buffers, call, and take back what the device holds."""
        # An engine that does not start is nobody's mistake: that goes up to whoever grades.
        gpu = self._gpu = self._gpu or self._start()
        try:
            library = self._library = self._library or gpu.load(self._path)
        except CourseError as problem:
            self.close()
            return Outcome("load", str(problem))
        try:
            tensors = self._place(gpu, call)
        except CourseError as problem:
            self.close()
            return Outcome("device", f"the device has no memory left for this call's buffers: {problem}")
        reason = message = ""
        try:
            where = {name: tensor.address for name, tensor in tensors.items()}
            placed = arguments(call, lambda name: where.get(name, 0))
            result = library.call(entry, *placed, timeout=seconds)
            reason, message = judge_answer(entry, call, result.code)
        except WorkerTimeout:
            reason, message = "timeout", f"{entry} did not return within {seconds:g} s"
        except WorkerStopped as problem:
            reason, message = "limit", f"{entry} was ended: it {problem.reason}"
        except WorkerDied as problem:
            reason, message = "crash", f"{entry} ended its process with {problem.ending}"
        except TimeoutError:  # the call returned and left the device more work than it has time for
            self.close()
            return Outcome("timeout", f"what {entry} launched did not end within {seconds:g} s: launch less")
        except EngineDied as problem:
            self.close()
            return Outcome("device", f"the virtual GPU did not survive this call: {problem}")
        except WorkerMisbehaved as problem:
            reason, message = "call", str(problem)
        except CourseError as problem:
            reason, message = "entry", str(problem)
        after = {
            name: tensors[name].torch().clone() if name in tensors else t.clone()
            for name, t in call.kept.items()
        }
        try:
            report = gpu.report()
        except CourseError as problem:
            self.close()
            return Outcome("device", f"the virtual GPU did not survive this call: {problem}", after)
        if reason or report.sticky_error:
            self.close()
        else:
            gpu.reset()
        return Outcome(reason, message, after, report)

    def _place(self, gpu: VirtualGpu, call: Call) -> dict[str, DeviceTensor]:
        """The buffers on the device. With the shapes of the call before they stay where they were: a server
        calls with the same memory again and again, and an answer kept by address would be the wrong one.

        Scratch is allocated anew for each call: to the device it was never written, and reading it before
        that is found. A buffer without elements has no memory: its argument is a null pointer.
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
            self._profile, self._options, self._resources, walls=Walls.virtual(), libraries=[self._path]
        )
