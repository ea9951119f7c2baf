"""The corrected twins of the faulty programs for sm_90a are right on a Hopper GPU."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.virtual_gpu.faults.corpus import Fault
from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY
from benchmarks.virtual_gpu.hopper_faults.corpus import hopper_faults
from common.build.program import Target, build_program
from common.gpu.devices import first_gpu

LIMIT_SECONDS = 60.0


@pytest.mark.parametrize("fault", hopper_faults(), ids=lambda fault: fault.name)
def test_a_corrected_twin_is_right(fault: Fault):
    if first_gpu().cc != CAPABILITY.removesuffix("a"):
        pytest.skip("these programs are for compute capability 9.0 alone")
    built = build_program([fault.path], Target.gpu(CAPABILITY), defines=["FIXED"])
    ran = subprocess.run([built.path], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert (ran.returncode, "result: right" in ran.stdout) == (0, True), ran.stdout + ran.stderr
