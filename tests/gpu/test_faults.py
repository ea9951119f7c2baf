"""The corrected twins of the faulty programs on hardware: right, and silent under compute-sanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.virtual_gpu.faults.corpus import Fault, all_faults
from benchmarks.virtual_gpu.faults.record import TOOLS
from common.build.program import Target, build_program
from common.gpu.devices import first_gpu

LIMIT_SECONDS = 60.0
# The two whose reports matter here; all four were run for the committed record.
QUICK_TOOLS = ("memcheck", "racecheck")


def twin(fault: Fault) -> Path:
    return build_program([fault.path], Target.gpu(first_gpu().cc), defines=["FIXED"]).path


def output_of(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("fault", all_faults(), ids=lambda fault: fault.name)
def test_a_twin_is_right(fault: Fault):
    status, said = output_of([str(twin(fault))])
    assert status == 0, said
    assert "result: right" in said


@pytest.mark.skipif(shutil.which("compute-sanitizer") is None, reason="needs compute-sanitizer")
@pytest.mark.parametrize("tool", QUICK_TOOLS)
@pytest.mark.parametrize("fault", all_faults(), ids=lambda fault: fault.name)
def test_a_twin_is_silent_under_the_sanitizer(fault: Fault, tool: str):
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "9", str(twin(fault))]
    status, said = output_of(command)
    assert status == 0, said
