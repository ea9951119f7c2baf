"""Refuses in a program for the virtual GPU what ptxas would refuse: here nobody makes machine code of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.build.diagnostics import Diagnostic
from common.build.errors import BuildError
from common.build.hints import hint_for
from common.build.resources import demangle
from common.build.unit import Compiled, Unit, spelled_names
from common.machine_code.embedded_ptx import embedded_ptx
from common.machine_code.static_memory import Excess, excesses


def refuse_excess(units: Sequence[Unit], objects: Sequence[Compiled]) -> None:
    """Raises BuildError for kernels and files with more static memory than ptxas takes."""
    names = spelled_names(units)
    for unit, compiled in zip(units, objects, strict=True):
        ptx = embedded_ptx(compiled.path.read_bytes())
        found = excesses(ptx.decode(errors="replace")) if ptx else []
        if found:
            diagnostics = [_diagnostic(one, names, names[unit.source]) for one in found]
            raise BuildError(f"{unit.source.name} did not compile", diagnostics, "")


def _diagnostic(excess: Excess, names: dict[Path, str], spelled: str) -> Diagnostic:
    if excess.kernel:
        file = names.get(Path(excess.file), excess.file) if excess.file else spelled
        message = (
            f"{demangle(excess.kernel)} uses too much shared data: {excess.bytes:,} bytes in its __shared__ "
            f"variables and those of functions it calls, {excess.most:,} at most"
        )
        return Diagnostic("error", file, excess.line, None, message, hint_for(message))
    message = (
        f"the file uses too much constant data: {excess.bytes:,} bytes in its __constant__ variables, "
        f"{excess.most:,} at most"
    )
    return Diagnostic("error", spelled, None, None, message, hint_for(message))
