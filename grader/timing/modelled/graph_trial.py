"""Checks, before calls in a graph are modelled, that a call can be captured and that its graph does its work.

A call that cannot be captured has no time inside a graph, on a GPU or here."""

from __future__ import annotations

from grader.answers.compare import answer, difference
from grader.devices.captures import not_as_outside
from grader.devices.failures import CallFailed, retried
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.time_budget import CALL_SECONDS
from grader.spec import Case, Task, seeds
from grader.spec.random_inputs import Random

_REPLAYS = 2


def trial(task: Task, case: Case, session: VirtualSession, secret: str) -> str:
    """A sentence when a call in a graph does not do what it does outside. It is tried again once if it got
    too little CPU time.

    The memory holds other values in every replay than during the capture, so answers computed or kept from
    then are wrong. Empty where the call itself fails: that is judged elsewhere.
    """
    return retried(lambda: _trial(task, case, session, secret))


def _trial(task: Task, case: Case, session: VirtualSession, secret: str) -> str:
    call, *others = (
        task.inputs(case.size, Random(seeds.derive(secret, "graph", number)))
        for number in range(1 + _REPLAYS)
    )
    # Warm-up: loads modules.
    if not session.run(task.entry, call, CALL_SECONDS).ok:
        return ""
    try:
        session.capture(task.entry, call, CALL_SECONDS)
        for other in others:
            after = session.replay(task.entry, other, CALL_SECONDS)
            wrong = difference(task, case.size, other, answer(task, case.size, other), after)
            if wrong is not None:
                return not_as_outside("a call", wrong.message)
    except CallFailed as problem:
        return str(problem)
    return ""
