"""Every self-checking program on the virtual GPU: right by its host reference, the GPU's bits, no finding."""

from __future__ import annotations

import subprocess

import pytest

from common.build import Target, build_program
from common.virtual_gpu.session import run_program
from tests.virtual_gpu.programs.corpus import Program, all_programs, compared_lines, recorded_lines

PROGRAMS = all_programs()
LIMIT_SECONDS = 120.0


def test_the_corpus_is_wide_enough():
    assert len(PROGRAMS) >= 36


@pytest.mark.parametrize(
    ("program", "cc"),
    [
        pytest.param(program, cc, id=f"{program.name}-{cc}")
        for program in PROGRAMS
        for cc in program.capabilities
    ],
)
def test_a_correct_program_gives_the_gpus_answers_and_no_finding(program: Program, cc: str):
    built = build_program([program.source], Target.virtual(cc), extra_flags=program.flags)
    assert built.diagnostics == []
    ran = run_program(built.path, timeout=LIMIT_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.status == 0, f"{program.name} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()
    assert program.missing_lines(ran.stdout) == []
    assert compared_lines(ran.stdout) == recorded_lines(program)
