"""Kernels and libraries side by side at one case: the same inputs for each, in the same memory, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from common.errors import CourseError
from grader.device.arena import Arena, random_inputs
from grader.device.failures import CallFailed
from grader.device.gpu import GpuSession
from grader.device.graphs import CANNOT_BE_CAPTURED, TorchGraph, WorkerGraph
from grader.device.timed import Timed, TorchCall, WorkerCall
from grader.spec import Call, Case, OnBuffers, Protocol_, Task

if TYPE_CHECKING:
    import torch

Contestant = GpuSession | OnBuffers
CALLS_IN_A_GRAPH = 16
ALIGNMENT: Mapping[Protocol_, int] = {
    "cold": 2 << 20,  # as buffers of their own would lie
    "graph": 512,  # what lies between buffers is refilled too, and should not fill the cache
}
_MOST_BYTES = 4 << 30  # of all the buffers of a graph's calls
_Result = TypeVar("_Result")


class WentWrong(Exception):
    """While it was timed, the submission failed or left a wrong answer; the text says how."""


class NotTimed(Exception):
    """The submission cannot be timed in this way; the text says why."""


class Contest:
    """What the side `judged` does wrong is raised as WentWrong or NotTimed; any other's mistake is ours, and
    a CourseError. `count` calls are timed together: one, or all those of a graph."""

    def __init__(
        self, task: Task, case: Case, protocol: Protocol_, sides: Mapping[str, Contestant], judged: str = ""
    ) -> None:
        self._task, self._case, self._size = task, case, case.size
        self._protocol, self._contestants, self._judged = protocol, sides, judged
        self._calls: list[Call] = []
        self._arena: Arena | None = None
        self._image: torch.Tensor | None = None
        self._wanted: torch.Tensor | None = None
        self.sides: dict[str, Timed] = {}
        self.count = 1

    def __enter__(self) -> Contest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for side in self.sides.values():
            side.close()
        if self._arena is not None:
            for contestant in self._contestants.values():  # one that failed before it was a side, too
                if isinstance(contestant, GpuSession):
                    contestant.forget(self._arena.buffer)
            self._arena.free()

    def refresh(self, seed: str) -> None:
        """New inputs for all; the first time, memory for them, and everybody ready on it."""
        rng = random_inputs(seed)
        first = self._task.inputs(self._size, rng)
        self.count = calls_together(self._protocol, first)
        self._calls = [first, *(self._task.inputs(self._size, rng) for _ in range(self.count - 1))]
        new = self._arena is None
        arena = self._arena = self._arena or Arena(self._calls, ALIGNMENT[self._protocol])
        self._image, self._wanted = arena.image(self._calls), None
        for name in self._contestants if new else ():
            arena.fill(self._image)
            self._make_ready(name, arena)

    def run(self, name: str, what: Callable[[Timed], _Result]) -> _Result:
        """Do something with a side, on fresh memory."""
        assert self._arena is not None
        assert self._image is not None
        self._arena.fill(self._image)
        return self._guarded(name, lambda: what(self.sides[name]))

    def check(self, name: str) -> None:
        """Is what this side has just left in memory the answer?"""
        assert self._arena is not None
        assert self._image is not None
        if self._wanted is None:  # not before somebody has run
            self._wanted = self._arena.expected(self._task, self._size, self._image)
        wrong = self._arena.first_wrong(self._task, self._size, self._calls, self._wanted)
        if wrong is None:
            return
        number, found = wrong
        message = found.message
        if self._protocol == "graph":
            message = f"call {number + 1} of {self.count} in the graph: {message}"
            if self._arena.untouched(self._calls, self._image, number):
                message += (
                    ". Its kernel is not in the graph, or does not read its inputs when that is replayed"
                )
        if name == self._judged:
            raise WentWrong(f"it went wrong while it was timed: {message}")
        raise CourseError(f"{name} is wrong at {self._case.name}: {message}")

    def _make_ready(self, name: str, arena: Arena) -> None:
        self.sides[name] = self._guarded(name, lambda: self._ready(self._contestants[name], arena))

    def _ready(self, contestant: Contestant, arena: Arena) -> Timed:
        entry = self._task.entry
        if isinstance(contestant, GpuSession):
            if self._protocol == "graph":
                return WorkerGraph(contestant, entry, self._calls, arena)
            return WorkerCall(contestant, entry, self._calls[0], arena)
        if self._protocol == "graph":
            return TorchGraph(contestant, self._size, self.count, arena)
        return TorchCall(contestant, self._size, arena)

    def _guarded(self, name: str, deed: Callable[[], _Result]) -> _Result:
        try:
            return deed()
        except CallFailed as problem:
            if name != self._judged:
                raise CourseError(f"{name} failed at {self._case.name}: {problem}") from problem
            if problem.reason == CANNOT_BE_CAPTURED:
                raise NotTimed(str(problem)) from problem
            raise WentWrong(f"it failed while it was timed: {problem}") from problem


def calls_together(protocol: Protocol_, call: Call) -> int:
    """How many calls are timed at once: in a graph, as many as memory allows, up to sixteen."""
    if protocol == "cold":
        return 1
    held = sum(tensor.numel() * tensor.element_size() for tensor in call.buffers.values())
    return max(2, min(CALLS_IN_A_GRAPH, _MOST_BYTES // max(1, held)))
