"""Every self-checking program on a GPU: right by its own host reference, and the bits that are committed."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.virtual_gpu.programs.corpus import Program, all_programs, compared_lines, recorded_lines
from common.build.program import Target, build_program
from common.gpu.devices import first_gpu

LIMIT_SECONDS = 60.0


@pytest.mark.parametrize("program", all_programs(), ids=lambda program: program.name)
def test_a_program_gives_the_recorded_answers(program: Program):
    built = build_program([program.source], Target.gpu(first_gpu().cc), extra_flags=program.flags)
    # Some host compilers warn inside their own headers; the program itself must be clean.
    assert [d for d in built.diagnostics if d.file and program.source.name in d.file] == []
    ran = subprocess.run([built.path], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert ran.returncode == 0, (
        f"{program.name} ended with status {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    )
    assert program.missing_lines(ran.stdout) == []
    assert compared_lines(ran.stdout) == recorded_lines(program)
