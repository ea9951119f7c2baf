"""Sessions on the virtual GPU: engine, worker and this process cannot access each other's memory."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from common.build.engine.error_names import error_name
from common.core.cpu_time import COUNTED, OutOfTime
from common.core.errors import CourseError, MachineOverloaded
from common.sandbox.policy import Walls
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from common.virtual_gpu.report import Launch
from common.virtual_gpu.tensor import DeviceTensor, dtype_name, mark_initialised
from common.virtual_gpu.wire import EngineDied, EngineRefused
from common.worker.process import WorkerDied, WorkerTimeout
from grader.devices.arguments import arguments, judge_answer
from grader.devices.captures import require_captured
from grader.devices.failures import CallFailed, EndedFromOutside, failure, retried
from grader.devices.on_virtual.given_stream import LOST, OFF_STREAM, out_of_order
from grader.devices.on_virtual.memory import allocated, read, write
from grader.devices.session import Outcome
from grader.spec import CALLS_IN_A_GRAPH, Call

if TYPE_CHECKING:
    import torch

# For an engine whose times count, by themselves or in a graph.
TIMING = {"calls_in_graph": CALLS_IN_A_GRAPH}
# For an engine that measures: other sessions run the checks.
MEASURING = {"memory": True, "race": False, "init": False, "sync": False, "async": False, **TIMING}
WAITS_FOR_HOST = "waits for the host"  # the reason of a call whose stream waits for a function of the host
TOO_MANY_LAUNCHES = "too many launches"  # … of a call with more launches than anybody looks at
_NOT_READY = "cudaErrorNotReady"  # what the harness's synchronisation says of such a stream
_HOST_FUNCTION = (
    "put a function of the host on the stream (cudaLaunchHostFunc, cudaStreamAddCallback), and what follows "
    "it waits for the host: do all of a call's work in kernels"
)
_CHANCES = 3  # calls that are repeated because a process was ended from outside
_END_SECONDS = 0.3  # of a process whose connections are closed already
# For an engine that runs a few blocks of each launch, each for some milliseconds, and looks at nothing else.
SAMPLING = {"sample_blocks": 6, "counters": False, "cost": False}
_KERNEL_SECONDS = 20  # the engine's limit for one launch; beyond it the kernel hangs
T = TypeVar("T")
IsEmpty = Callable[["torch.Tensor"], bool]
_OUTPUT = 16 << 10  # characters of a submission's output that are kept


@dataclass(frozen=True)
class _Graph:
    """The latest captured call, and the stream that it was captured on."""

    executable: int = 0
    stream: int = 0


class VirtualSession:
    """One library on its own engine, which restarts after a crash or a sticky error."""

    def __init__(
        self,
        library: Path,
        *,
        options: Mapping[str, object] | None = None,
        resources: Path | None = None,
        profile: str = DEFAULT_PROFILE,
        beside: int = 1,  # other devices at the same time: the baseline's
    ) -> None:
        self._path, self._beside = library, beside
        self._options = {"max_seconds": _KERNEL_SECONDS, **(options or {})}
        self._resources = resources
        self._profile = profile
        self._gpu: VirtualGpu | None = None
        self._library: Library | None = None
        self._stream = 0  # the stream that entry points get; the parent's own, as graphs are
        self._graph = _Graph()
        self._tensors: dict[str, DeviceTensor] = {}
        self._printed = ""
        self._spent = 0.0  # CPU time of closed devices
        self._was_killed = False  # a process of this call's, by a signal that nobody here sends
        self._chances = _CHANCES
        self._is_empty: IsEmpty | None = None  # while a call with such buffers runs
        self.replayed: tuple[Launch, ...] = ()  # launches of the latest replay of a graph

    def __enter__(self) -> VirtualSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def output(self) -> str:
        text = self._printed + (self._gpu.output if self._gpu is not None else "")
        return text[-_OUTPUT:]

    def close(self) -> None:
        if self._gpu is not None:
            self._was_killed |= self._gpu.was_killed
            self._spent += self._gpu.seconds
            self._printed = self.output
            self._gpu.close()
        self._gpu = self._library = None
        self._tensors = {}

    def run(self, entry: str, call: Call, seconds: float) -> Outcome:
        """Place the buffers, call, and read the device's memory. A call that got too little CPU time is
        repeated once; then MachineOverloaded is raised. One that was ended from outside is repeated, too."""
        return retried(lambda: self._run(entry, call, seconds))

    def run_sparse(self, entry: str, call: Call, seconds: float, is_empty: IsEmpty) -> Outcome:
        """The same, but buffers that are empty take no memory, and nobody reads memory afterwards."""
        self._is_empty = is_empty
        try:
            return self.run(entry, call, seconds)
        finally:
            self._is_empty = None

    def _run(self, entry: str, call: Call, seconds: float) -> Outcome:
        before = self._seconds()
        with self._second_chance(entry):
            outcome = self._called(entry, call, seconds)
        return dataclasses.replace(outcome, seconds=self._seconds() - before)

    @contextlib.contextmanager
    def _second_chance(self, entry: str) -> Iterator[None]:
        """Raises EndedFromOutside, as long as chances are left, where that is what became of the call."""
        self._was_killed = False
        try:
            yield
        except CourseError:
            self.close()
            if not self._forgives():
                raise
        else:
            if not self._forgives():
                return
        raise EndedFromOutside(f"a process of {entry} was ended from outside")

    def _forgives(self) -> bool:
        self._chances -= self._was_killed
        return self._was_killed and self._chances >= 0

    def _seconds(self) -> float:
        """CPU time of engine, worker and this thread, which reads a call's report."""
        return time.thread_time() + self._spent + (self._gpu.seconds if self._gpu is not None else 0.0)

    def _called(self, entry: str, call: Call, seconds: float) -> Outcome:
        gpu = self._ready()
        try:
            library = self._library = self._library or gpu.load(self._path)
        except CourseError as problem:
            self.close()
            self._was_killed |= isinstance(problem, WorkerDied) and problem.from_outside
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
            gpu.harness.begin_call(self._stream)
            (returned,) = gpu.calls([library.order(entry, *placed)], entry, seconds)
            gpu.harness.end_call()
            settled = gpu.synchronise(seconds)
            if settled:  # of a program that has ended the engine may report only an error
                gpu.require_worker(entry)
            reason, message = judge_answer(entry, call, returned or settled)
            if settled and not returned and error_name(settled) == _NOT_READY:
                reason, message = WAITS_FOR_HOST, f"{entry} {_HOST_FUNCTION}"
        except OutOfTime as over:  # the call returned, but its launches take too long
            self.close()
            if over.starved:
                raise MachineOverloaded(f"what {entry} launched", over.got) from over
            message = (
                f"what {entry} launched did not end within {seconds:g} s {COUNTED}: look for a loop that "
                "does not end, or in which every block does the work of all blocks; else launch less"
            )
            return Outcome("timeout", message)
        except EngineRefused:  # the stream is gone since an earlier call, or with its program
            reason, message = self._why_lost(gpu, entry, seconds)
            self.close()
            return Outcome(reason, message)
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
        if not reason and report.program_exit != "running":  # what it had queued was dropped
            reason, message = self._why_lost(gpu, entry, seconds)
        if not reason and (lack := out_of_order(report, self._stream)):
            reason, message = OFF_STREAM, lack
        launched = int(report.totals.get("launches", 0))
        if not reason and launched > len(report.launches):
            reason = TOO_MANY_LAUNCHES
            message = f"{entry} made {launched:,} launches, more than the {len(report.launches):,} looked at"
        if reason or report.sticky_error:
            self.close()
        else:
            gpu.reset()
        return Outcome(reason, message, after, report)

    @staticmethod
    def _why_lost(gpu: VirtualGpu, entry: str, seconds: float) -> tuple[str, str]:
        """A program that ends takes its stream along: then its end is the cause."""
        try:
            gpu.require_worker(entry, _END_SECONDS)
        except CourseError as problem:
            failed = failure(problem, entry, seconds)
            return failed.reason, str(failed)
        return OFF_STREAM, LOST

    def capture(self, entry: str, call: Call, seconds: float) -> None:
        """Capture the call that has just run, on the same memory. Raises CallFailed."""

        def captured(gpu: VirtualGpu, library: Library) -> tuple[list[int], int]:
            # This one takes part in the default stream's order, so that work which a captured call puts there
            # by mistake is an error with a name and not silently left out of the graph.
            stream = gpu.harness.create_stream(blocking=True)
            where = {name: tensor.address for name, tensor in self._tensors.items()}
            placed = arguments(call, lambda name: where.get(name, 0), stream)
            gpu.harness.begin_capture(stream)
            codes = gpu.calls([library.order(entry, *placed)], entry, seconds)
            try:
                graph = gpu.harness.end_capture(stream)
                self._graph = _Graph(gpu.harness.instantiate(graph), stream)
            except EngineRefused as refused:
                return [*codes, refused.code], 0
            return codes, gpu.harness.node_count(graph)

        (codes, nodes), settled = self._asked(entry, seconds, captured)
        require_captured(entry, [settled, *codes], nodes)

    def replay(self, entry: str, call: Call, seconds: float) -> dict[str, torch.Tensor]:
        """Replay the captured call on the values of another call of the same sizes; the memory afterwards.
        Raises CallFailed."""
        write(self._tensors, call, [name for name in call.kept if name in self._tensors])

        def launched(gpu: VirtualGpu, library: Library) -> int:
            try:
                gpu.harness.launch_graph(self._graph.executable, self._graph.stream)
            except EngineRefused as refused:
                return refused.code
            return 0

        refused, settled = self._asked(entry, seconds, launched)
        if code := refused or settled:
            raise CallFailed("error", f"a replay of {entry} returned {error_name(code)} ({code})")
        return self._after(call)

    def _asked(self, entry: str, seconds: float, asked: Callable[[VirtualGpu, Library], T]) -> tuple[T, int]:
        """What `asked` returns, and the error of the work that it queued, once that is done. Raises
        CallFailed."""
        if self._gpu is None or self._library is None:
            raise CallFailed("call", f"{entry} was not run before")
        with self._second_chance(entry):
            return self._asked_once(self._gpu, self._library, entry, seconds, asked)

    def _asked_once(
        self,
        gpu: VirtualGpu,
        library: Library,
        entry: str,
        seconds: float,
        asked: Callable[[VirtualGpu, Library], T],
    ) -> tuple[T, int]:
        try:
            answer = asked(gpu, library)
            settled = gpu.synchronise(seconds)
            self.replayed = gpu.report().launches
            gpu.reset()
        except OutOfTime as over:
            self.close()
            if over.starved:
                raise MachineOverloaded(f"a graph of {entry}", over.got) from over
            message = f"a graph of {entry} did not end within {seconds:g} s {COUNTED}"
            raise CallFailed("timeout", message) from over
        except CourseError as problem:
            self.close()
            raise failure(problem, entry, seconds) from problem
        return answer, settled

    def _after(self, call: Call) -> dict[str, torch.Tensor]:
        """The contents of the device's memory."""
        if self._is_empty is not None:
            return {}
        return {
            name: read(self._tensors[name], call, name) if name in self._tensors else tensor.clone()
            for name, tensor in call.kept.items()
        }

    def _place(self, gpu: VirtualGpu, call: Call) -> dict[str, DeviceTensor]:
        """The buffers on the device. If shapes are those of the previous call, addresses stay the same: a
        server reuses its memory, and an answer cached by address would be wrong.

        Scratch is newly allocated for each call, so that the device finds reads before writes. A buffer
        without elements has no memory: its argument is a null pointer.
        """
        buffers = {name: tensor for name, tensor in call.buffers.items() if tensor.numel() > 0}
        placed = [(name, t.name, t.shape, t.dtype) for name, t in self._tensors.items()]
        wanted = [
            (name, call.label(name), call.shape(name), dtype_name(t.dtype)) for name, t in buffers.items()
        ]
        empty = {
            name
            for name, tensor in buffers.items()
            if name not in call.scratch and self._is_empty and self._is_empty(tensor)
        }
        if placed != wanted:
            while self._tensors:
                self._tensors.popitem()[1].free()
            for name in buffers:
                self._tensors[name] = allocated(gpu, call, name, takes_memory=name not in empty)
        for name in call.scratch:
            if name in buffers:
                self._tensors[name].free()
                self._tensors[name] = allocated(gpu, call, name)
                self._tensors[name].poison()
        mark_initialised([self._tensors[name] for name in empty])
        write(self._tensors, call, [name for name in buffers if name not in {*call.scratch, *empty}])
        return self._tensors

    def _start(self) -> VirtualGpu:
        return VirtualGpu(
            self._profile,
            self._options,
            self._resources,
            walls=Walls.virtual(),
            libraries=[self._path],
            beside=self._beside,
        )

    def _ready(self) -> VirtualGpu:
        """The device, with a stream that stands apart from the default stream, as a server's streams do: what
        is launched there is not in order with it."""
        if self._gpu is None:
            self._gpu = self._start()
            self._stream = self._gpu.harness.create_stream(blocking=False)
        return self._gpu
