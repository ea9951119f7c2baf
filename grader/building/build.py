"""Compiles a submission in a sandbox with the walls that it will run behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.build.diagnostics import Diagnostic
from common.build.engine.build import EngineError
from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.build.resources import KernelResources, resources, resources_of
from common.build.toolchain import ToolchainError
from common.build.walled import CompilerWalls
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.building.line_directives import line_directive

WALLS = CompilerWalls(memory_bytes=2 << 30)  # ten times what a kernel takes
HEADERS = REPOSITORY / "common" / "cuda"


@dataclass(frozen=True)
class Built:
    """A library for one target, or why there is none."""

    library: Path | None = None
    message: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def plain(self) -> list[dict[str, Any]]:
        return [dataclasses.asdict(item) for item in self.diagnostics]


def build(source: Path, target: Target, defines: Sequence[str] = ()) -> Built:
    """Compile and link one file as a shared library, with macros "NAME=VALUE" where there are any."""
    if (line := line_directive(source.read_text(errors="replace"))) is not None:
        return _line_directive_refused(source, line)
    try:
        result = build_program(
            [source], target, kind="shared", defines=defines, include_dirs=[HEADERS], walls=WALLS
        )
    except CourseError as problem:
        return refused(problem)
    return Built(result.path, diagnostics=tuple(result.diagnostics))


def refused(problem: CourseError) -> Built:
    """What the compiler says of a submission. Raises the problem where it is one of this machine, which a
    submission cannot mend."""
    if isinstance(problem, EngineError | ToolchainError):
        raise problem
    return Built(
        message=str(problem),
        diagnostics=tuple(problem.diagnostics) if isinstance(problem, BuildError) else (),
    )


def _line_directive_refused(source: Path, line: int) -> Built:
    """Refuse #line: findings and the compiler's messages must point into the submitted file."""
    found = Diagnostic(
        severity="error",
        file=str(source),
        line=line,
        column=None,
        message="#line is not allowed in a submission: it would move findings to other files and lines",
        hint="remove the directive",
    )
    return Built(message=f"{source}:{line}: {found.message}", diagnostics=(found,))


def kernel_resources(
    source: Path, library: Path | None, architecture: str, defines: Sequence[str] = ()
) -> tuple[KernelResources, ...]:
    """ptxas figures of every kernel in the file. Raises BuildError, with places in the source, if ptxas makes
    no machine code of it.

    `library` is the file built for the virtual GPU, for the same architecture: it has the PTX already, and
    making that is most of the work.
    """
    arch = f"sm_{architecture}"
    if library is not None:
        try:
            return tuple(
                resources_of(library, source, arch, defines=defines, include_dirs=[HEADERS], walls=WALLS)
            )
        except BuildError as problem:
            if not problem.diagnostics:  # at a limit, which the source would meet as well
                raise
            # They name the PTX: compiled from the source, they name its lines.
    compiled = resources(source, arches=[arch], defines=defines, include_dirs=[HEADERS], walls=WALLS)
    return tuple(compiled[arch])
