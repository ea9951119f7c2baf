"""Checks that a call's work waits for earlier work on its stream. If not, its time is not valid."""

from __future__ import annotations

from collections.abc import Callable

from common.core.errors import CourseError
from common.worker.process import Order
from grader.devices.on_gpu.arena import Arena, random_inputs
from grader.devices.on_gpu.session import GpuSession
from grader.devices.time_budget import CALL_SECONDS
from grader.spec import Case, Task
from grader.timing.measured.comparison import ALIGNMENT


def out_of_order(task: Task, case: Case, session: GpuSession, seed: str) -> str:
    """A sentence when a call on a blocked stream writes its outputs before the stream is released.

    Also empty for a call that fails: that is judged elsewhere.
    """
    call = task.inputs(case.size, random_inputs(seed))
    arena = Arena([call], ALIGNMENT["cold"])
    image = arena.image([call])

    def one() -> Order:
        base = session.opened(arena.buffer)
        return session.order(task.entry, call, lambda name: arena.address(base, 0, name))

    def on_a_held_stream() -> list[Order]:
        base, trusted = session.opened(arena.buffer), session.trusted
        digests = [
            trusted("digest_memory", arena.address(base, 0, name), arena.buffer_bytes(0, name))
            for name in call.outputs
        ]
        held = [trusted("hold_stream"), one(), trusted("wait_a_moment")]
        return [*digests, *held, *digests, trusted("stream_is_held"), trusted("settle")]

    def ask(orders: Callable[[], list[Order]]) -> list[int]:
        arena.fill(image)
        return session.ask(task.entry, CALL_SECONDS, orders, [arena.buffer])

    try:
        # The first launch of a kernel loads its code, for which the driver may wait until the device is idle:
        # on any stream, it would wait for the blocked one.
        ask(lambda: [one(), session.trusted("settle")])
        answers = ask(on_a_held_stream)
    except CourseError:
        return ""
    finally:
        session.forget(arena.buffer)
        arena.free()
    outputs = len(call.outputs)
    before, after = answers[:outputs], answers[-2 - outputs : -2]
    still_held = answers[-2] == 1
    if not still_held or before == after:
        return ""
    return (
        "outputs are written while the given stream is still blocked: the work is not on that stream "
        "and cannot be timed. Launch on the stream, or make other streams wait for it and it for them"
    )
