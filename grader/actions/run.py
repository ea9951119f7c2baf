"""Programs with a main() of their own, built and run on the virtual GPU."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE

from common.build.diagnostics import Diagnostic
from common.build.program import Target, build_program
from common.build.resources import resources_of, write_for_engine
from common.core.errors import CourseError
from common.virtual_gpu.engine import Options
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from common.virtual_gpu.session import RunReport, run_program

DEFAULT_CHECKS = ("memory", "race", "init", "sync", "async")
CHECKS = (*DEFAULT_CHECKS, "global_race")


@dataclass(frozen=True)
class Source:
    """A program's files, and what they are compiled and linked with. One file that is no source, object or
    library is a program that was built before."""

    files: Sequence[Path]
    defines: Sequence[str] = ()
    includes: Sequence[Path] = ()
    nvcc_flags: Sequence[str] = ()
    link_flags: Sequence[str] = ()

    def build(self, target: Target) -> tuple[Path, list[Diagnostic]]:
        """The program and the compiler's warnings. Raises CourseError with its errors."""
        built = build_program(
            self.files,
            target,
            defines=self.defines,
            include_dirs=self.includes,
            extra_flags=self.nvcc_flags,
            link_flags=self.link_flags,
        )
        return built.path, built.diagnostics

    def figures(self, program: Path, arch: str, folder: Path) -> Path | None:
        """ptxas's figures of every kernel, in a file for the engine. Of a program of several files, or with
        flags of its own, the engine estimates them from PTX."""
        if len(self.files) != 1 or self.nvcc_flags or self.link_flags or self.files[0].absolute() == program:
            return None
        kernels = resources_of(program, self.files[0], arch, defines=self.defines, include_dirs=self.includes)
        return write_for_engine(kernels, folder)


@dataclass(frozen=True)
class OnVirtual:
    """How to run on the virtual GPU: the profile, the checks, the CPU seconds that each thread of the engine
    may spend on a launch. `with_figures` adds ptxas's figures of every kernel: occupancy depends on them, and
    PTX does not hold them."""

    profile: str = DEFAULT_PROFILE
    checks: Mapping[str, bool] = field(default_factory=lambda: selected_checks(None, []))
    with_figures: bool = False
    max_seconds: float | None = None
    arch: str | None = None  # such as "sm_90a"; None: the profile's own
    devices: int | None = None  # that the program sees; None: VGPU_DEVICES, or one

    @property
    def target(self) -> Target:
        return Target.virtual(find_profile(self.profile).compute_capability).for_arch(self.arch)

    @property
    def options(self) -> Options:
        if self.max_seconds is None:
            return self.checks
        # Whoever gives a kernel more time gives its blocks more instructions: time alone is the limit.
        return {**self.checks, "max_seconds": self.max_seconds, "max_warp_instructions": _UNLIMITED}


_UNLIMITED = 1 << 62


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
        figures = source.figures(program, f"sm_{how.target.cc}", Path(scratch)) if how.with_figures else None
        return run_program(
            program,
            list(arguments),
            profile=how.profile,
            options=how.options,
            env=None if how.devices is None else {**os.environ, "VGPU_DEVICES": str(how.devices)},
            resources=figures,
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
