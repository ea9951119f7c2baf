"""Configurations on a GPU: each in its own worker, timed inside a CUDA graph of many calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from common.core.errors import CourseError
from grader.devices.failures import CallFailed
from grader.devices.on_gpu.graphs import WorkerGraph
from grader.devices.on_gpu.session import GpuSession
from grader.spec import Case, seeds
from grader.timing.measured.comparison import ALIGNMENT, calls_together
from grader.timing.measured.shared_inputs import SharedInputs
from grader.tuning.builds import Built
from grader.tuning.spec import Tuning
from grader.tuning.trial import TrialFailed

Profiler = Callable[[Path], Mapping[str, float]]  # the counters of a library's call


class InGraph:
    """A configuration in a worker, captured on inputs that all configurations share."""

    def __init__(
        self, session: GpuSession, side: WorkerGraph, calls: int, count: Callable[[], Mapping[str, float]]
    ) -> None:
        self._session, self._side, self._calls, self._count = session, side, calls, count
        self._counted: Mapping[str, float] | None = None

    def seconds(self) -> float:
        try:
            return self._side.time().seconds / self._calls
        except CourseError as problem:
            raise TrialFailed(f"it failed while it was timed: {problem}") from problem

    def counters(self) -> Mapping[str, float]:
        if self._counted is None:
            self._counted = self._count()
        return self._counted

    def close(self) -> None:
        self._side.close()
        self._session.close()


class GpuBench:
    modelled = False

    def __init__(self, tuning: Tuning, case: Case, profiler: Profiler) -> None:
        self._tuning, self._profiler = tuning, profiler
        self._inputs = SharedInputs(tuning, case, ALIGNMENT["graph"])
        self._calls = calls_together("graph", self._inputs.draw(seeds.derive("tune", case.name)))
        self._inputs.place(self._calls)

    def enter(self, built: Built) -> InGraph:
        assert built.library is not None, "what was not built cannot run"
        library = built.library
        session = GpuSession(library)
        try:
            self._inputs.fill()
            side = WorkerGraph(session, self._tuning.entry, self._inputs.calls, self._inputs.arena)
            self._inputs.fill()
            side.time()
            wrong = self._inputs.first_wrong()
        except CallFailed as problem:
            session.close()
            raise TrialFailed(str(problem)) from problem
        if wrong is not None:
            session.close()
            raise TrialFailed(f"its answer is wrong: {wrong[1].message}")
        return InGraph(session, side, self._calls, lambda: self._profiler(library))

    def close(self) -> None:
        self._inputs.close(())
