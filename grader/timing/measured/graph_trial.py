"""Checks, before calls are timed inside a graph, that each does its own work there, in order."""

from __future__ import annotations

from collections.abc import Sequence

from common.core.errors import CourseError
from common.worker.process import Order
from grader.answers.compare import answer, difference
from grader.devices.captures import not_as_outside
from grader.devices.on_gpu.arena import Arena, random_inputs
from grader.devices.on_gpu.graphs import WorkerGraph
from grader.devices.on_gpu.session import GpuSession
from grader.spec import Case, Task, seeds
from grader.timing.measured.comparison import ALIGNMENT

_CALLS = 3


def trial(task: Task, case: Case, session: GpuSession, seed: str) -> str:
    """A sentence when calls in a graph do not do what each does alone.

    Inside the graph, a call's memory is filled right before it and its inputs are replaced right after it:
    work that is not captured, or that another call does, reads wrong inputs.
    """
    size = case.size
    calls, others = (
        [task.inputs(size, rng) for _ in range(_CALLS)]
        for rng in (random_inputs(seeds.derive(seed, part)) for part in ("true", "other"))
    )
    arena, true, other = (Arena(calls, ALIGNMENT["graph"]) for _ in range(3))
    try:
        true.fill(true.image(calls))
        other.fill(other.image(others))
        arena.fill(arena.image(calls))

        def around(number: int) -> tuple[Sequence[Order], Sequence[Order]]:
            def copy(source: Arena, start: int, held: int) -> Order:
                to, from_ = session.opened(arena.buffer), session.opened(source.buffer)
                return session.trusted("captured_copy", to + start, from_ + start, held)

            start, end = arena.starts[number], arena.starts[number + 1]
            return [copy(true, start, end - start)], [
                copy(other, arena.address(0, number, name), held)
                for name in calls[number].inputs
                if (held := arena.buffer_bytes(number, name))
            ]

        graph = WorkerGraph(session, task.entry, calls, arena, around)
        arena.fill(other.now())
        graph.replay([true.buffer, other.buffer])
        for number, call in enumerate(calls):
            left = arena.views(arena.now(), number)
            after = {**call.kept, **{name: left[name] for name in call.outputs}}
            wrong = difference(task, size, call, answer(task, size, call), after)
            if wrong is not None:
                return not_as_outside(f"call {number + 1} of {_CALLS}", wrong.message)
    except CourseError as problem:
        return str(problem)
    finally:
        for one in (arena, true, other):
            session.forget(one.buffer)
            one.free()
    return ""
