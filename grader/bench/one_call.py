"""One call of a library's entry point in this very process, for tools that look at a process from outside:

    python -m grader.bench.one_call EXERCISE SIZES LIBRARY

SIZES is a case's sizes as JSON. There is no sandbox here: no profiler or sanitizer could work through it. The
first call loads the module; the second lies between the profiler's start and stop.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from common.worker.native_script import C_TYPES
from grader.spec import At, Buffers, Case, HostTable, Scalar, registry, seeds


def command(exercise: str, case: Case, library: Path) -> list[str]:
    """The line that makes the call, to be run in the repository's root."""
    sizes = json.dumps(dict(case.sizes))
    return [sys.executable, "-m", "grader.bench.one_call", exercise, sizes, str(library)]


def call_once(exercise: str, sizes: Mapping[str, int], library: str) -> None:
    import torch

    from grader.spec.random_inputs import Random

    found = registry.find(exercise)
    # Made on the host, so that the tool sees only the library's own kernels.
    call = found.inputs(Case("", sizes).size, Random(seeds.derive("one call")))
    buffers = {name: tensor.cuda() for name, tensor in call.buffers.items()}
    entry = getattr(ctypes.CDLL(library), found.entry)
    values = [_value(buffers, argument) for argument in call.arguments]

    def run() -> None:
        if code := entry(*values):
            sys.exit(f"{found.entry} returned {code}")
        torch.cuda.synchronize()

    run()
    torch.cuda.profiler.start()
    run()
    torch.cuda.profiler.stop()


def _value(buffers: Buffers, argument: At | Scalar | HostTable) -> object:
    """An argument as ctypes passes it, on the default stream."""
    if isinstance(argument, HostTable):
        fields = [_field(buffers, field) for row in argument.rows for field in row]
        return (ctypes.c_uint64 * len(fields))(*fields)
    if isinstance(argument, At):
        return ctypes.c_void_p(_field(buffers, argument))
    return C_TYPES[argument.type](argument.value)


def _field(buffers: Buffers, argument: At | Scalar) -> int:
    if isinstance(argument, Scalar):
        return int(argument.value)
    tensor = buffers[argument.buffer]
    return int(tensor.data_ptr() + argument.offset * tensor.element_size())


if __name__ == "__main__":
    call_once(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])
