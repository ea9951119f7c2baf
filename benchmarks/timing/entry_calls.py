"""Calls of a library's entry points in this process, on torch tensors on the GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from common.core.errors import CourseError
from common.worker.native_script import C_TYPES
from grader.spec import Argument, At, HostTable, Scalar
from grader.spec import Call as Inputs

Work = Callable[[], None]


def torch_stream() -> int:
    """torch's current stream: in a capture, the captured one."""
    import torch

    return int(torch.cuda.current_stream().cuda_stream)


def entry_call(
    library: ctypes.CDLL, entry: str, inputs: Inputs, stream: Callable[[], int] = torch_stream
) -> Work:
    """A call of an entry point on the current stream."""
    types = [_type(argument) for argument in inputs.arguments]
    values = [_value(inputs, argument) for argument in inputs.arguments]
    streams = [number for number, argument in enumerate(inputs.arguments) if _is_stream(argument)]
    function = getattr(library, entry)

    def call() -> None:
        for number in streams:
            values[number] = stream()
        function.argtypes, function.restype = types, ctypes.c_int
        if code := function(*values):
            raise CourseError(f"{entry} failed with cudaError {code}")

    return call


def _is_stream(argument: Argument) -> bool:
    return isinstance(argument, Scalar) and argument.type == "stream"


def _type(argument: Argument) -> Any:
    return C_TYPES[argument.type] if isinstance(argument, Scalar) else ctypes.c_void_p


def _value(inputs: Inputs, argument: Argument) -> object:
    if isinstance(argument, HostTable):
        fields = [int(_field(inputs, field)) for row in argument.rows for field in row]
        return ctypes.cast((ctypes.c_uint64 * len(fields))(*fields), ctypes.c_void_p)
    return _field(inputs, argument)


def _field(inputs: Inputs, argument: At | Scalar) -> int | float:
    if isinstance(argument, Scalar):
        return argument.value
    tensor = inputs.buffers[argument.buffer]
    return tensor.data_ptr() + argument.offset * tensor.element_size()
