"""Every program of benchmarks/virtual_gpu/features on the virtual GPU: right, and without a finding."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.virtual_gpu.features.corpus import feature_programs
from benchmarks.virtual_gpu.programs.corpus import Program
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

PROGRAMS = feature_programs()
LIMIT_SECONDS = 120.0


@cache
def programs() -> ProgramsTogether:
    return build_together([program.source for program in PROGRAMS], host_optimisation="-O0")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_correct_program_is_right_and_has_no_finding(program: Program):
    assert programs().diagnostics == []
    ran = programs().run(program.name, timeout=LIMIT_SECONDS)
    assert ran.status == 0, f"{program.name} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()
