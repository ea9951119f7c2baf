"""Before calls in a graph are modelled: can a call be captured at all, and does its graph do the call's work?

What cannot be captured has no time inside a graph, on a GPU as here."""

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
    """A sentence when a call in a graph does not do what it does outside. What the machine starves is tried
    once more.

    The call's memory holds other values in every replay than when it was captured: work that was done while
    it was captured, or answers kept from then, are the wrong ones. Nothing where the call fails by itself:
    that is judged elsewhere.
    """
    return retried(lambda: _trial(task, case, session, secret))


def _trial(task: Task, case: Case, session: VirtualSession, secret: str) -> str:
    call, *others = (
        task.inputs(case.size, Random(seeds.derive(secret, "graph", number)))
        for number in range(1 + _REPLAYS)
    )
    # Once before, so that modules are loaded and first calls behind it.
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
