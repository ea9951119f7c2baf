"""Whether a call's work is ordered on the stream that its entry point got: after earlier work and before
later work."""

from __future__ import annotations

from common.virtual_gpu.report import BoundedCall, Launch, Report
from grader.words.numbers import short_kernel

OFF_STREAM = "not on its stream"  # the reason of a call whose work is not ordered on the given stream
LOST = "the given stream no longer works when the call is over: do not destroy it and do not reset the device"
_DEFAULT_STREAMS = (0, 2)  # the legacy one and a thread's own, as protocol.h counts them
_GIVEN = "the caller's stream is the entry's last argument, launch everything there"
_CAPTURED = (
    "the given stream was captured during the call: launch on it as it is. Whether calls are captured into a "
    "graph is the caller's decision"
)
_LATE = "the program used the device after the call had returned: do all of a call's work before it returns"
_COPIED_OUTSIDE = f"a copy or fill by the runtime was not in order with the given stream; {_GIVEN}"


def out_of_order(report: Report, stream: int) -> str:
    """A sentence when work of the call that the engine bounded was not ordered on `stream`.

    The engine runs the newest queued work first unless an order is required. So work that does not wait for
    the call's first bound runs before it, and work that the second bound does not wait for runs after it.
    """
    call = report.call
    if call is None or call.destroyed or (call.ended < 0 and not call.captured):
        return LOST
    if call.captured:
        return _CAPTURED
    if call.late_requests:
        return _LATE
    return _launches_outside(report, call, stream) or (_COPIED_OUTSIDE if call.copies_outside else "")


def _launches_outside(report: Report, call: BoundedCall, stream: int) -> str:
    for launch in report.launches:
        if launch.stream in _DEFAULT_STREAMS:
            return f"{short_kernel(launch.kernel)} was launched on the default stream; {_GIVEN}"
    for launch in report.launches:
        if launch.index < call.began:
            return (
                f"{_launched(launch, stream)} and did not wait for earlier work on the given one; {_GIVEN}, "
                "or make other streams wait for an event of it"
            )
        if launch.index >= call.ended:
            return (
                f"{_launched(launch, stream)} and still runs when the given one is done; {_GIVEN}, or make "
                "it wait for an event of every other stream"
            )
    return ""


def _launched(launch: Launch, stream: int) -> str:
    where = "on the given stream" if launch.stream == stream else "on another stream than the given one"
    return f"{short_kernel(launch.kernel)} was launched {where}"
