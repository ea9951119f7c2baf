"""Every self-checking program for sm_90a on a Hopper GPU: right by its own host reference."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY, hopper_programs
from benchmarks.virtual_gpu.programs.corpus import Program
from common.build.program import Target, build_program
from common.gpu.devices import first_gpu

LIMIT_SECONDS = 60.0


@pytest.mark.parametrize("program", hopper_programs(), ids=lambda program: program.name)
def test_a_program_is_right(program: Program):
    if first_gpu().cc != CAPABILITY.removesuffix("a"):
        pytest.skip("these programs are for compute capability 9.0 alone")
    built = build_program([program.source], Target.gpu(CAPABILITY))
    ran = subprocess.run([built.path], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert ran.returncode == 0, (
        f"{program.name} ended with status {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    )
