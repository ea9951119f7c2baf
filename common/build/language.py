"""What a .cu file may be written in, wherever nvcc reads one: C++17, and lambdas marked __device__.

The flag for such lambdas makes every file include <functional>, which is a third of the time that a small
file takes. So it is given to files that show such a lambda, and to those that nvcc refuses without it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from common.build.cache import Cache
from common.build.compile import compile_units
from common.build.errors import BuildError
from common.build.unit import Compiled, Unit
from common.build.walled import CompilerWalls

LANGUAGE_FLAGS = ("-std=c++17",)
LAMBDA_FLAG = "--extended-lambda"
_MARKED_LAMBDA = re.compile(rb"\]\s*__(?:host|device)__")


def compile_cuda(
    units: Sequence[Unit], *, cache: Cache, label: str, timeout: float, walls: CompilerWalls | None
) -> list[Compiled]:
    """compile_units() of sources that nvcc reads."""
    units = [_with_lambdas(unit) if _shows_lambda(unit) else unit for unit in units]
    try:
        return compile_units(units, cache=cache, label=label, timeout=timeout, walls=walls)
    except BuildError as problem:
        if LAMBDA_FLAG not in problem.log or all(LAMBDA_FLAG in unit.command for unit in units):
            raise
    # A macro or a header hides the lambda, and nvcc has asked for the flag.
    marked = [_with_lambdas(unit) for unit in units]
    return compile_units(marked, cache=cache, label=label, timeout=timeout, walls=walls)


def _shows_lambda(unit: Unit) -> bool:
    try:
        return _MARKED_LAMBDA.search(unit.source.read_bytes()) is not None
    except OSError:
        return False  # compile_units says it better


def _with_lambdas(unit: Unit) -> Unit:
    if LAMBDA_FLAG in unit.command:
        return unit
    return dataclasses.replace(unit, command=(*unit.command, LAMBDA_FLAG))
