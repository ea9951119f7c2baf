"""Every program of benchmarks/virtual_gpu/features on a GPU: right by its own host reference."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.virtual_gpu.features.corpus import feature_programs
from benchmarks.virtual_gpu.programs.corpus import Program
from common.build.program import Target, build_program
from common.gpu.devices import first_gpu

LIMIT_SECONDS = 60.0


@pytest.mark.parametrize("program", feature_programs(), ids=lambda program: program.name)
def test_a_program_is_right(program: Program):
    built = build_program([program.source], Target.gpu(first_gpu().cc))
    ran = subprocess.run([built.path], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert ran.returncode == 0, (
        f"{program.name} ended with status {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    )
