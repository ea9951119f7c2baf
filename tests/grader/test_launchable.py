"""A launch for which a GPU has too few registers fails there: it earns nothing on the virtual GPU, which runs
the cases before ptxas has counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.virtual_gpu.profiles import find_profile
from grader.pipeline.grading import grade
from grader.pipeline.judging.launchable import refusal
from grader.spec import registry
from tests.exercises.wrong_kernel import edited

H200 = find_profile("h200")
# Never done, and the compiler must keep all of these at once.
MANY_REGISTERS = """  if (p.seq_len < 0) {
    float held[80];
    auto* there = reinterpret_cast<volatile float*>(p.k_cache);
#pragma unroll
    for (int i = 0; i < 80; ++i) held[i] = there[i * gridDim.x];
#pragma unroll
    for (int i = 0; i < 80; ++i) there[i] = held[79 - i];
  }
"""
BEGINS = "  const int lane = threadIdx.x % kLanes;\n"


@pytest.mark.parametrize(
    ("threads", "registers", "fits"),
    [
        (1024, 64, True),
        (1024, 65, False),
        (256, 255, True),
        (288, 255, False),
        (896, 72, True),
        (897, 72, False),
    ],
)
def test_registers_are_given_to_whole_warps_in_steps(threads: int, registers: int, fits: bool) -> None:
    said = refusal("k(float*)", threads, registers, H200)
    assert (said == "") is fits
    assert fits or f"__launch_bounds__({threads})" in said


def test_a_kernel_that_a_gpu_cannot_launch_earns_nothing(tmp_path: Path) -> None:
    exercise = registry.find("01")
    source = tmp_path / "kernel.cu"
    edits = [("kThreads = 128", "kThreads = 1024"), (BEGINS, BEGINS + MANY_REGISTERS)]
    source.write_text(edited(exercise.baseline.read_text(), edits))
    record = grade(exercise, source, submission="registers", device="virtual", stages=("checks", "mechanism"))
    assert (record.points, record.verdict) == (0, "returns an error")
    failed = next(case for case in record.cases if not case.passed and not case.step)
    assert "cudaErrorLaunchOutOfResources" in failed.message
    assert "store_kv" in failed.message
    # Where the engine has ptxas's figures, it refuses the launch itself.
    assert all("cudaErrorLaunchOutOfResources (701)" in one.message for one in record.mechanisms)
