"""Sessions on a CUDA device. This process owns the memory and shares it with the worker, so that it reads
results from the device itself and need not trust the worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from common.build.engine.error_names import error_name
from common.core.errors import CourseError
from common.gpu.integrity import changed_code
from common.gpu.support import SharedBuffer, library_path
from common.sandbox.policy import Walls
from common.worker.calls import convert
from common.worker.process import Order, Worker, WorkerDied, WorkerMisbehaved, WorkerTimeout
from grader.devices.arguments import arguments, judge_answer
from grader.devices.failures import CallFailed, failure
from grader.devices.on_gpu.memory import Copied, Memory, Shared, SharingRefused
from grader.devices.scratch import filled
from grader.devices.session import Outcome
from grader.spec import Call

_OUTPUT = 16 << 10
_ASK_SECONDS = 20.0


class GpuSession:
    """One library in its own worker process, with a trusted library beside it."""

    problem_word = "entry"  # the reason of a call that the worker could not make
    has_steps = True  # whether steps' entry points can be called, not only the exercise's

    def __init__(self, library: Path) -> None:
        self._path = library
        self._worker: Worker | None = None
        self._support = self._library = -1
        self._memory: Memory = Shared()
        self._opened: dict[int, int] = {}  # our address -> the worker's
        self._printed = ""
        self.asked_seconds = 0.0  # how long the worker took for the latest orders, by this process's clock

    def __enter__(self) -> GpuSession:
        return self

    def __exit__(self, *_: object) -> None:
        import torch

        self.close()
        torch.cuda.empty_cache()  # torch keeps what it freed, and other gradings on this GPU may need it

    @property
    def output(self) -> str:
        text = self._printed + (self._worker.output() if self._worker is not None else "")
        return text[-_OUTPUT:]

    @property
    def threads(self) -> int:
        """How many threads the worker has: one that outlives a call may work after the timing."""
        return self._worker.threads() if self._worker is not None else 0

    @property
    def changed_code(self) -> str:
        """A library whose code was changed in the worker: the one that keeps time, or the driver's."""
        if self._worker is None:
            return ""
        return changed_code(self._worker.pid, (library_path().name, "libcuda.so"))

    def close(self) -> None:
        if self._worker is not None:
            self._printed = self.output
            self._worker.close()
        self._worker = None
        self._opened = {}

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        buffers = {name: SharedBuffer(filled(call, name)) for name in call.buffers}

        def address(name: str) -> int:
            return self.opened(buffers[name]) if call.buffers[name].numel() > 0 else 0

        reason = message = ""
        try:
            answer, settled = self.ask(
                entry,
                seconds,
                lambda: [self.order(entry, call, address), self.trusted("settle")],
                list(buffers.values()),
            )
            reason, message = judge_answer(entry, call, answer)
            if not reason and settled:
                reason, message = "error", f"{entry} returned {error_name(settled)} ({settled})"
            if reason:
                self.close()
        except CallFailed as problem:
            reason, message = problem.reason, str(problem)
        finally:
            after = {name: call.held(name, buffers[name].tensor()).clone() for name in call.kept}
            for buffer in buffers.values():
                self.forget(buffer)
                buffer.free()
        return Outcome(reason, message, after)

    def ask(
        self,
        what: str,
        seconds: float,
        orders: Callable[[], Sequence[Order]],
        buffers: Sequence[SharedBuffer],
    ) -> list[int]:
        """Send orders to the worker, on memory that this process has filled; they are made once it is ready.

        Raises CallFailed if it does not answer; the next call then gets a new worker.
        """
        import torch

        torch.cuda.synchronize()
        try:
            worker = self._ready()
            made = orders()
            self._memory.before(worker, self._support, buffers)
            started = time.perf_counter()
            answers = worker.calls(made, what, seconds)
            self.asked_seconds = time.perf_counter() - started
            self._memory.after(worker, self._support, buffers)
            return answers
        except SharingRefused:
            self.close()
            self._memory = Copied()
            return self.ask(what, seconds, orders, buffers)
        except CourseError as problem:
            self.close()
            raise failure(problem, what, seconds, self.problem_word) from problem

    def order(
        self, entry: str, call: Call, address: Callable[[str], int], stream: int = 0, *, idle: bool = False
    ) -> Order:
        """A call of the submission with its buffers at these addresses; with `idle`, an empty one."""
        types, values = convert(entry, arguments(call, address, stream), None)
        if idle:
            return Order(self._support, "do_nothing", types, values)
        return Order(self._library, entry, types, values)

    def trusted(self, name: str, *numbers: int) -> Order:
        """A call of the trusted library, which takes addresses and sizes."""
        return Order(self._support, name, ["u64"] * len(numbers), numbers)

    def opened(self, buffer: SharedBuffer) -> int:
        """The buffer's address in the worker, which must be ready."""
        assert self._worker is not None
        if buffer.address not in self._opened:
            self._opened[buffer.address] = self._memory.open(self._worker, self._support, buffer)
        return self._opened[buffer.address]

    def last_address(self) -> int:
        """The address that the trusted library found last."""
        low, high = self.ask(
            "asking for an address",
            _ASK_SECONDS,
            lambda: [self.trusted("address_low"), self.trusted("address_middle")],
            (),
        )
        return low | high << 31

    def forget(self, buffer: SharedBuffer) -> None:
        """Close memory in the worker before it is freed."""
        theirs = self._opened.pop(buffer.address, None)
        if self._worker is None or theirs is None:
            return
        try:
            self._memory.close(self._worker, self._support, theirs)
        except CourseError:
            self.close()

    def _ready(self) -> Worker:
        if self._worker is None:
            self._worker = self._load()
        return self._worker

    def _load(self) -> Worker:
        """A worker that has loaded the trusted library and the submission's."""
        worker = Worker(
            None,
            walls=Walls.gpu(),
            libraries=[library_path(), self._path],
            descriptors=self._memory.descriptors,
        )
        self._support = worker.load(library_path())
        try:
            self._library = worker.load(self._path)
        except (WorkerDied, WorkerMisbehaved, WorkerTimeout):
            raise
        except CourseError as problem:
            worker.close()
            raise CallFailed("load", str(problem)) from problem
        return worker
