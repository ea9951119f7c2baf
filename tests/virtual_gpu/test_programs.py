"""Every self-checking program on the virtual GPU: right by its host reference, the GPU's bits, no finding."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.virtual_gpu.programs.corpus import Program, all_programs, compared_lines, recorded_lines
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

PROGRAMS = all_programs()
LIMIT_SECONDS = 120.0


def test_the_corpus_is_wide_enough():
    assert len(PROGRAMS) >= 36


@cache
def programs_of(cc: str, flags: tuple[str, ...]) -> ProgramsTogether:
    alike = [program for program in PROGRAMS if program.flags == flags and cc in program.capabilities]
    return build_together([one.source for one in alike], cc=cc, flags=flags, host_optimisation="-O0")


@pytest.mark.parametrize(
    ("program", "cc"),
    [
        pytest.param(program, cc, id=f"{program.name}-{cc}")
        for program in PROGRAMS
        for cc in program.capabilities
    ],
)
def test_a_correct_program_gives_the_gpus_answers_and_no_finding(program: Program, cc: str):
    built = programs_of(cc, program.flags)
    assert built.diagnostics == []
    ran = built.run(program.name, timeout=LIMIT_SECONDS)
    assert ran.status == 0, f"{program.name} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()
    assert program.missing_lines(ran.stdout) == []
    assert compared_lines(ran.stdout) == recorded_lines(program)
