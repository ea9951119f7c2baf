"""A call's arguments for a worker, and the check of its return code."""

from __future__ import annotations

from collections.abc import Callable

from common.build.engine.error_names import error_name
from common.worker.calls import Argument, DevicePointer, Number, Table
from grader.spec import At, Call, HostTable, Scalar

NOT_REFUSED = "not refused"


def arguments(call: Call, address: Callable[[str], int], stream: int = 0) -> list[Argument]:
    """`address` gives a buffer's address in the calling process: 0 for one that has no elements."""

    def plain(argument: At | Scalar) -> DevicePointer | Number:
        if isinstance(argument, Scalar):
            return Number(argument.type, stream if argument.type == "stream" else argument.value)
        start = address(argument.buffer)
        offset = argument.offset * call.buffers[argument.buffer].element_size()
        return DevicePointer(start + offset if start else 0)

    return [
        Table([[plain(field) for field in row] for row in argument.rows])
        if isinstance(argument, HostTable)
        else plain(argument)
        for argument in call.arguments
    ]


def judge_answer(entry: str, call: Call, code: int) -> tuple[str, str]:
    """A reason and a sentence when `entry` returned another code than it must."""
    if code == call.returns:
        return "", ""
    said = f"{entry} returned {error_name(code)} ({code})"
    if call.returns == 0:
        return "error", said
    message = f"{said}, but must refuse this with {error_name(call.returns)} ({call.returns})"
    return (NOT_REFUSED if code == 0 else "error"), message
