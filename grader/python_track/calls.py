"""A call for a Python file: its arguments by name, tensors by their start addresses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from common.core.errors import CourseError
from common.virtual_gpu.tensor import dtype_name
from grader.spec import At, Call, HostTable, PythonTrack, Scalar

MISSING_TRITON = (
    "it imports triton, which is not installed here: `.venv/bin/pip install -r requirements/triton.txt`, or "
    "hand in a kernel.cu, which does not need it"
)


def python_call(
    track: PythonTrack, call: Call, place: Callable[[str, int], Mapping[str, int]], stream: int | None
) -> dict[str, Any]:
    """The call as the worker gets it. `place` gives a buffer's byte as the worker addresses it."""

    def described(argument: At | Scalar) -> Any:
        if isinstance(argument, Scalar):
            return argument.value
        tensor = call.buffers[argument.buffer]
        offset = argument.offset * tensor.element_size()
        count = max(0, math.prod(call.shape(argument.buffer)) - argument.offset)
        return {"dtype": dtype_name(tensor.dtype), "count": count, **place(argument.buffer, offset)}

    given = [
        [[described(field) for field in row] for row in argument.rows]
        if isinstance(argument, HostTable)
        else described(argument)
        for argument in call.arguments
        if not (isinstance(argument, Scalar) and argument.type == "stream")
    ]
    if len(given) != len(track.arguments):
        raise CourseError(
            f"{track.function} has {len(track.arguments)} arguments in the exercise's Python track, but a "
            f"call has {len(given)}: name every argument but the stream"
        )
    return {"arguments": dict(zip(track.arguments, given, strict=True)), "stream": stream}


def explained(problem: CourseError) -> CourseError:
    """The problem, with advice if Triton is missing."""
    text = str(problem)
    return CourseError(MISSING_TRITON) if "it imports triton, which" in text else problem
