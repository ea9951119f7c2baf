"""Every self-checking program for sm_90a on the virtual GPU: right by its host reference, and no finding."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.virtual_gpu.hopper.corpus import capabilities, hopper_programs
from benchmarks.virtual_gpu.programs.corpus import Program
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

PROGRAMS = hopper_programs()
LIMIT_SECONDS = 120.0


@cache
def programs_of(cc: str) -> ProgramsTogether:
    alike = [program.source for program in PROGRAMS if cc in capabilities(program)]
    return build_together(alike, cc=cc, host_optimisation="-O0")


@pytest.mark.parametrize(
    ("program", "cc"),
    [
        pytest.param(program, cc, id=f"{program.name}-{cc}")
        for program in PROGRAMS
        for cc in capabilities(program)
    ],
)
def test_a_correct_program_is_right_and_has_no_finding(program: Program, cc: str):
    built = programs_of(cc)
    assert built.diagnostics == []
    ran = built.run(program.name, timeout=LIMIT_SECONDS)
    assert ran.status == 0, f"{program.name} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()
