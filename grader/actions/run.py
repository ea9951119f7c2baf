"""Programs with a main() of their own, built and run on the virtual GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE

from common.build.diagnostics import Diagnostic
from common.build.program import Target, build_program
from common.build.resources import resources_of, write_for_engine
from common.core.errors import CourseError
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from common.virtual_gpu.session import RunReport, run_program

DEFAULT_CHECKS = ("memory", "race", "init", "sync", "async")
CHECKS = (*DEFAULT_CHECKS, "global_race")


@dataclass(frozen=True)
class Source:
    """A file, and its macros and include folders."""

    file: Path
    defines: Sequence[str] = ()
    includes: Sequence[Path] = ()

    def build(self, target: Target) -> tuple[Path, list[Diagnostic]]:
        """The program and the compiler's warnings. Raises CourseError with its errors."""
        built = build_program([self.file], target, defines=self.defines, include_dirs=self.includes)
        return built.path, built.diagnostics


@dataclass(frozen=True)
class OnVirtual:
    """How to run on the virtual GPU: the profile and the checks. `with_figures` adds ptxas's figures of every
    kernel: occupancy depends on them, and PTX does not hold them."""

    profile: str = DEFAULT_PROFILE
    checks: Mapping[str, bool] = field(default_factory=lambda: selected_checks(None, []))
    with_figures: bool = False

    @property
    def target(self) -> Target:
        return Target.virtual(find_profile(self.profile).compute_capability)


def run_on_virtual(
    source: Source,
    program: Path,
    how: OnVirtual,
    arguments: Sequence[str] = (),
    *,
    seconds: float | None = None,
    captured: bool = False,
) -> RunReport:
    """Run for at most `seconds`; with `captured`, keep its output."""
    with tempfile.TemporaryDirectory() as scratch:
        registers = None
        if how.with_figures:
            kernels = resources_of(
                program,
                source.file,
                f"sm_{how.target.cc}",
                defines=source.defines,
                include_dirs=source.includes,
            )
            registers = write_for_engine(kernels, Path(scratch))
        return run_program(
            program,
            list(arguments),
            profile=how.profile,
            options=how.checks,
            resources=registers,
            timeout=seconds,
            stdin=DEVNULL if captured else None,
            stdout=PIPE if captured else None,
            stderr=PIPE if captured else None,
        )


def selected_checks(only: str | None, without: list[str]) -> dict[str, bool]:
    """A switch for every check: on for the default five or those in `only`, off for those in `without`."""
    named = DEFAULT_CHECKS if only is None else tuple(name for name in only.split(",") if name != "none")
    if unknown := [name for name in named if name not in CHECKS]:
        raise CourseError(f"there is no check {unknown[0]!r}; the checks are {', '.join(CHECKS)}")
    return {name: name in named and name not in without for name in CHECKS}
