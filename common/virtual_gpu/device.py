"""A virtual GPU in Python: named tensors in its memory, libraries called in a worker process.

with VirtualGpu() as gpu:
    x = gpu.from_numpy("x", np.arange(8, dtype="float32"))
    y = gpu.tensor("y", (8,), "float32")
    library = gpu.load(path_to_shared_library)
    result = library.call("double_it", x, y, i32(8), stream)
    print(result.error, y.numpy(), gpu.findings)
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from common.build.engine.error_names import error_name
from common.core.cpu_time import TimeLimit
from common.core.errors import CourseError
from common.sandbox.policy import Walls
from common.virtual_gpu.engine import Engine, Options
from common.virtual_gpu.memory_share import memory_share
from common.virtual_gpu.places import shorten_places
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from common.virtual_gpu.report import Finding, Launch, Report
from common.virtual_gpu.tensor import DeviceTensor, dtype_name
from common.virtual_gpu.wire import EngineDied, HarnessChannel
from common.worker.calls import Argument, convert
from common.worker.process import Order, Worker

if TYPE_CHECKING:
    import torch

_CALL_SECONDS = 300.0


@dataclass(frozen=True)
class CallResult:
    """What an entry point returned, and the first error of the call and of the work it queued."""

    returned: int
    code: int

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def error(self) -> str:
        return error_name(self.code)


class VirtualGpu:
    """One engine with its memory. Use it as a context manager: leaving it ends the engine and the worker."""

    def __init__(
        self,
        profile: str = DEFAULT_PROFILE,
        options: Options | None = None,
        resources: Path | None = None,
        *,
        walls: Walls | None = None,
        libraries: Sequence[Path | str] = (),
        beside: int = 0,
    ) -> None:
        """`walls` stand around the worker. With them the device offers a share of this machine's memory, as
        `beside` others do. `libraries` names those that will be loaded after the first one: a worker reads
        the folders of its libraries and nothing else."""
        self._walls = walls
        self._libraries = [Path(path) for path in libraries]
        if walls is None:
            self._engine = Engine(profile, options, resources)
        else:
            lines_from = [path.absolute().parent for path in self._libraries]
            self._engine = Engine(profile, options, resources, lines_from, memory_share(profile, 1 + beside))
        self._worker: Worker | None = None
        self._synchronising = 0.0  # seconds so far
        self._finalizer = weakref.finalize(self, self._engine.close)

    def __enter__(self) -> VirtualGpu:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End worker and engine. Views of tensors stay readable for as long as they are kept."""
        if self._worker is not None:
            self._worker.close()
        self._finalizer()

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any = "float32",
        fill: float | int | None = None,
        *,
        unused: int = 0,
    ) -> DeviceTensor:
        """Allocate a tensor. Without `fill` its memory counts as never written. `unused` elements, which
        nobody will touch, take no memory."""
        made = tuple(int(size) for size in shape)
        tensor = DeviceTensor(self._engine, name, made, dtype_name(dtype), unused=unused)
        if fill is not None:
            tensor.fill(fill)
        return tensor

    def from_numpy(self, name: str, array: np.ndarray[Any, Any]) -> DeviceTensor:
        """A tensor with the array's shape, type and values; dense, whatever the array's strides."""
        tensor = self.tensor(name, array.shape, array.dtype)
        tensor.write(array)
        return tensor

    def from_torch(self, name: str, tensor: torch.Tensor) -> DeviceTensor:
        """A tensor with the torch tensor's shape, type and values; laid out densely."""
        made = self.tensor(name, tensor.shape, tensor.dtype)
        made.torch().copy_(tensor)
        made.mark_initialised()
        return made

    def load(self, path: Path | str) -> Library:
        """Load a shared library, built for the virtual GPU, in the worker process."""
        path = Path(path)
        if self._worker is None:
            self._libraries.append(path)
            self._worker = Worker(
                self._engine.program,
                self._walls,
                self._libraries,
                self._engine.runtime,
                helpers=[self._engine.pid],
                shared=[self._engine.pinned_descriptor],
            )
        elif path.absolute().parent not in {known.absolute().parent for known in self._libraries}:
            raise CourseError(
                f"{path} could not be loaded: the worker may read the folders of the libraries it was "
                "started for and no other. Name it when the virtual GPU is made: VirtualGpu(libraries=[…])"
            )
        return Library(self, self._worker, self._worker.load(path))

    @property
    def missing_walls(self) -> tuple[str, ...]:
        """What this kernel does not offer to keep libraries in their place, in words."""
        return tuple(self._worker.missing_walls) if self._worker is not None else ()

    def calls(self, orders: Sequence[Order], what: str, timeout: float = _CALL_SECONDS) -> list[int]:
        """Call entry points of loaded libraries one right after the other; what each returned. Nothing that
        they queued is waited for. `what` names them in errors, which are those of Library.call."""
        if self._worker is None:
            raise CourseError(f"{what} cannot be called: no library is loaded")
        return self._worker.calls(orders, what, timeout)

    @property
    def harness(self) -> HarnessChannel:
        """Requests to the engine that no library can see or make: streams, bounds of calls, graphs."""
        return self._engine.channel

    def require_worker(self, what: str, seconds: float = 0.0) -> None:
        """Raises how the worker ended, if it has ended or ends within `seconds`, even outside of any call."""
        if self._worker is not None:
            self._worker.require_alive(what, seconds)

    @property
    def was_killed(self) -> bool:
        """Whether engine or worker was ended by a signal that nobody here sends."""
        return self._engine.was_killed or (self._worker is not None and self._worker.was_killed)

    @property
    def pids(self) -> list[int]:
        """Of the engine and of the worker, where there is one."""
        return [self._engine.pid] if self._worker is None else self._worker.pids

    def synchronise(self, timeout: float | None = None) -> int:
        """Run all that is queued on the device; the cudaError_t that came of it. Raises OutOfTime."""
        limit = TimeLimit(math.inf if timeout is None else timeout, lambda: self.pids)
        try:
            return self._engine.channel.synchronise(limit)
        except EngineDied as problem:
            raise self._engine.explain(problem) from problem
        finally:
            self._synchronising += limit.used

    @property
    def seconds(self) -> float:
        """What engine and worker had so far, of CPU time and sleep, for what was asked of them."""
        worker = self._worker.seconds if self._worker is not None else 0.0
        return worker + self._synchronising + self._engine.report_seconds

    def report(self) -> Report:
        """Launches, findings and counters since the start or the last reset."""
        over = self._worker is not None and not self._worker.alive
        report = self._engine.settled_report() if over else self._engine.report()
        return shorten_places(report, Path.cwd())

    def reset(self) -> None:
        """Forget launches and findings; memory stays as it is."""
        self._engine.channel.reset()

    def set_option(self, key: str, value: object) -> None:
        """Change one of the engine's options, such as a check or a budget."""
        self._engine.channel.option(key, value)

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.report().launches

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report().findings

    @property
    def output(self) -> str:
        """What the libraries have printed so far."""
        return self._worker.output() if self._worker is not None else ""


class Library:
    """A library in the worker process."""

    def __init__(self, gpu: VirtualGpu, worker: Worker, number: int) -> None:
        self._gpu = gpu
        self._worker = worker
        self._number = number

    def call(
        self,
        entry: str,
        *arguments: Argument,
        argtypes: Sequence[str] | None = None,
        timeout: float = _CALL_SECONDS,
        synchronise: bool = True,
    ) -> CallResult:
        """Call an entry point that returns a cudaError_t as int, then run what it queued.

        Tensors and pointers are passed as addresses. Numbers need a C type: wrap them, as in i32(8), or name
        every argument's type in `argtypes`. Raises WorkerDied or WorkerTimeout when the call does not return.
        """
        (returned,) = self._worker.calls([self.order(entry, *arguments, argtypes=argtypes)], entry, timeout)
        failure = self._gpu.synchronise(timeout) if synchronise else 0
        return CallResult(returned, returned or failure)

    def order(self, entry: str, *arguments: Argument, argtypes: Sequence[str] | None = None) -> Order:
        """A call to be made together with others, by VirtualGpu.calls."""
        types, values = convert(entry, arguments, argtypes)
        return Order(self._number, entry, types, values)
