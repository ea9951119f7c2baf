"""Kernels and libraries compared at one case: the same inputs for all sides, answers checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from common.core.errors import CourseError
from grader.devices.captures import CANNOT_BE_CAPTURED
from grader.devices.failures import CallFailed
from grader.devices.on_gpu.graphs import TorchGraph, WorkerGraph
from grader.devices.on_gpu.session import GpuSession
from grader.devices.on_gpu.timed import Timed, TorchCall, WorkerCall
from grader.spec import CALLS_IN_A_GRAPH, Call, Case, OnBuffers, Task, TimingProtocol
from grader.timing.measured.shared_inputs import SharedInputs

Side = GpuSession | OnBuffers
ALIGNMENT: Mapping[TimingProtocol, int] = {
    "cold": 2 << 20,  # like separate allocations
    "graph": 512,  # gaps between buffers are refilled, too, and should not fill the cache
}
_MOST_BYTES = 4 << 30  # all buffers of a graph's calls
_Result = TypeVar("_Result")


class WentWrong(Exception):
    """The submission failed or gave a wrong answer while it was timed; the text describes it."""


class NotTimed(Exception):
    """The submission cannot be timed in this way; the text explains why."""


class TimedComparison:
    """A mistake of the side `judged` raises WentWrong or NotTimed; a mistake of another side is ours and
    raises CourseError. `count` calls are timed together: one, or all those of a graph.

    Sides in `elsewhere` use another case, in its own memory, with inputs of the same seed.
    """

    def __init__(
        self,
        task: Task,
        case: Case,
        protocol: TimingProtocol,
        sides: Mapping[str, Side],
        judged: str = "",
        elsewhere: Mapping[str, Case] | None = None,
    ) -> None:
        self._task = task
        self._protocol, self._given, self._judged = protocol, sides, judged
        common = SharedInputs(task, case, ALIGNMENT[protocol])
        apart = {
            name: SharedInputs(task, other, ALIGNMENT[protocol]) for name, other in (elsewhere or {}).items()
        }
        self._inputs = {name: apart.get(name, common) for name in sides}
        self._distinct = list(dict.fromkeys(self._inputs.values()))
        self.sides: dict[str, Timed] = {}
        self.count = 1

    def __enter__(self) -> TimedComparison:
        return self

    def __exit__(self, *_: object) -> None:
        for side in self.sides.values():
            side.close()
        for inputs in self._distinct:
            inputs.close(one for one in self._given.values() if isinstance(one, GpuSession))

    def refresh(self, seed: str) -> None:
        """Make new inputs for all sides; the first time, also allocate memory and prepare every side."""
        first = [inputs.draw(seed) for inputs in self._distinct]
        self.count = min(calls_together(self._protocol, call) for call in first)
        for inputs in self._distinct:
            inputs.place(self.count)
        for name in self._given if not self.sides else ():
            self._inputs[name].fill()
            self._make_ready(name)

    def run(self, name: str, what: Callable[[Timed], _Result]) -> _Result:
        """Call `what` with a side, on fresh memory."""
        self._inputs[name].fill()
        return self._guarded(name, lambda: what(self.sides[name]))

    def check(self, name: str) -> None:
        """Require that this side's result in memory is right."""
        inputs = self._inputs[name]
        wrong = inputs.first_wrong()
        if wrong is None:
            return
        number, found = wrong
        message = found.message
        if self._protocol == "graph":
            message = f"call {number + 1} of {self.count} in the graph: {message}"
            if inputs.untouched(number):
                message += (
                    ". Its kernel is not in the graph, or does not read its inputs when the graph is replayed"
                )
        if name == self._judged:
            raise WentWrong(f"it was wrong while it was timed: {message}")
        raise CourseError(f"{name} is wrong at {inputs.case.name}: {message}")

    def _make_ready(self, name: str) -> None:
        side, inputs = self._given[name], self._inputs[name]
        self.sides[name] = self._guarded(name, lambda: self._ready(side, inputs))

    def _ready(self, side: Side, inputs: SharedInputs) -> Timed:
        entry, arena = self._task.entry, inputs.arena
        if isinstance(side, GpuSession):
            if self._protocol == "graph":
                return WorkerGraph(side, entry, inputs.calls, arena)
            return WorkerCall(side, entry, inputs.calls[0], arena)
        if self._protocol == "graph":
            return TorchGraph(side, inputs.size, self.count, arena)
        return TorchCall(side, inputs.size, arena)

    def _guarded(self, name: str, function: Callable[[], _Result]) -> _Result:
        try:
            return function()
        except CallFailed as problem:
            if name != self._judged:
                raise CourseError(f"{name} failed at {self._inputs[name].case.name}: {problem}") from problem
            if problem.reason == CANNOT_BE_CAPTURED:
                raise NotTimed(str(problem)) from problem
            raise WentWrong(f"it failed while it was timed: {problem}") from problem


def calls_together(protocol: TimingProtocol, call: Call) -> int:
    """How many calls are timed at once: in a graph, as many as memory allows, up to sixteen."""
    if protocol == "cold":
        return 1
    held = sum(tensor.numel() * tensor.element_size() for tensor in call.buffers.values())
    return max(2, min(CALLS_IN_A_GRAPH, _MOST_BYTES // max(1, held)))
