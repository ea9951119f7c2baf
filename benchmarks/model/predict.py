"""Model every case on the virtual GPU."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.model.programs import PROGRAMS, Program
from common.build.program import Target, build_program
from common.build.resources import resources_of, write_for_engine
from common.core.errors import CourseError
from common.virtual_gpu.cost import modelled
from common.virtual_gpu.session import run_program

# Other tests cover findings; without the checks the large cases take seconds.
_OPTIONS = dict.fromkeys(("memory", "race", "init", "sync", "async"), "off")
_TARGET = Target.virtual()


def predict(profile: str, only: str = "", programs: Iterable[Program] = PROGRAMS) -> dict[str, Any]:
    """Predictions of all cases whose name contains `only`."""
    cases = [case for program in programs for case in _program_cases(program, profile, only)]
    return {"profile": profile, "cases": cases}


def build_for_the_model(program: Program) -> Path:
    return build_program(
        [program.source],
        _TARGET,
        defines=program.defines,
        include_dirs=program.include_dirs,
        host_optimisation="-O1",
    ).path


def _program_cases(program: Program, profile: str, only: str) -> Iterator[dict[str, Any]]:
    built = build_for_the_model(program)
    with tempfile.TemporaryDirectory() as scratch:
        registers = _registers(program, built, Path(scratch))
        for case in _run(built, ["list"], profile, registers)[0].splitlines():
            named = json.loads(case)
            if only not in program.name_of(named["name"]):
                continue
            _, launches = _run(built, ["run", named["name"]], profile, registers)
            time = modelled(launches)
            yield {
                "program": program.source.stem,
                "family": named["family"],
                "name": program.name_of(named["name"]),
                "microseconds": round(time.seconds * 1e6, 3),
                "launches": len(launches),
                "limiter": time.limiter,
                "sentence": time.sentence,
                "round_trips": time.round_trips,
                "terms": {name: round(seconds * 1e6, 3) for name, seconds in time.terms.items()},
            }


def _run(program: Path, arguments: list[str], profile: str, registers: Path) -> tuple[str, Any]:
    run = run_program(
        program,
        arguments,
        profile=profile,
        options=_OPTIONS,
        resources=registers,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if run.status != 0:
        raise CourseError(f"{program.name} {' '.join(arguments)}: {run.ending}\n{run.stdout}{run.stderr}")
    return run.stdout, run.report.launches


def _registers(program: Program, built: Path, folder: Path) -> Path:
    """ptxas's resource report for every kernel: occupancy depends on it."""
    kernels = resources_of(
        built,
        program.source,
        f"sm_{_TARGET.cc}",
        defines=program.defines,
        include_dirs=program.include_dirs,
    )
    return write_for_engine(kernels, folder)
