"""Does a call's work wait for what was on its stream before? If not, its time means nothing."""

from __future__ import annotations

from common.errors import CourseError
from common.virtual_gpu.worker_process import Order
from grader.device.arena import Arena, random_inputs
from grader.device.gpu import GpuSession
from grader.spec import Case, Task
from grader.stages.contest import ALIGNMENT
from grader.stages.patience import CALL_SECONDS


def out_of_order(task: Task, case: Case, session: GpuSession, seed: str) -> str:
    """A sentence when a call on a stream that is held writes its outputs before the stream goes on.

    Nothing also where nothing could be seen: a call that fails is judged elsewhere.
    """
    call = task.inputs(case.size, random_inputs(seed))
    arena = Arena([call], ALIGNMENT["cold"])
    arena.fill(arena.image([call]))

    def orders() -> list[Order]:
        base, trusted = session.opened(arena.buffer), session.trusted
        digests = [
            trusted("digest_memory", arena.address(base, 0, name), arena.buffer_bytes(0, name))
            for name in call.outputs
        ]
        one = session.order(task.entry, call, lambda name: arena.address(base, 0, name))
        held = [trusted("hold_stream"), one, trusted("wait_a_moment")]
        return [*digests, *held, *digests, trusted("stream_is_held"), trusted("settle")]

    try:
        answers = session.ask(task.entry, CALL_SECONDS, orders, [arena.buffer])
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
        "outputs are written while the stream that was given still waits: the work is not on that stream "
        "and cannot be timed. Launch on the stream, or make other streams wait for it and it for them"
    )
