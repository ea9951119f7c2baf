"""A file of which ptxas makes no machine code earns nothing, whatever runs of it on the virtual GPU."""

from __future__ import annotations

from pathlib import Path

from grader.pipeline.grading import grade
from grader.spec import registry

# The virtual GPU runs PTX, and never comes to this kernel.
UNFINISHED = """
extern __device__ int elsewhere(int);
__global__ void never_launched(int* p) { *p = elsewhere(*p); }
"""
DOES_NOT_LINK = "Unresolved extern function '_Z9elsewherei'"


def test_right_answers_of_a_file_that_no_gpu_can_run_earn_nothing(tmp_path: Path) -> None:
    exercise = registry.find("01")
    source = tmp_path / "kernel.cu"
    source.write_text(exercise.solution.read_text() + UNFINISHED)
    record = grade(exercise, source, submission="unfinished", device="virtual", quick=True)
    assert (record.points, record.verdict) == (0, "does not compile")
    assert all(case.passed for case in record.cases), "which is why it needs a look at the machine code"
    assert DOES_NOT_LINK in [one["message"] for one in record.diagnostics]
    assert DOES_NOT_LINK in record.parts[0].message
    assert not record.speed
