"""Conditional nodes of graphs: what runs is what kernels decide."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program

SOURCE = Path(__file__).parent / "graph_conditions" / "graph_conditions.cu"
EXPECTED = """\
if: 1000 1010 1010 1010
if and else: 1011 1010 1010 1010
switch: 1010 1011 1012 1000
while: 33 55
nested: 115
"""


@cache
def built() -> Path:
    return build_program([SOURCE], Target.virtual(), extra_flags=("-rdc=true", "-lcudadevrt")).path


def test_bodies_run_as_the_condition_says():
    result = run_program(built(), [], stdout=-1, stderr=-1, timeout=120)
    assert (result.status, result.stdout) == (0, EXPECTED), result.stdout + result.stderr
    assert not result.report.findings
    assert not result.report.leaks


def test_a_loop_without_end_is_stopped_at_the_time_limit():
    result = run_program(built(), ["forever"], options={"max_seconds": 1}, stdout=-1, stderr=-1, timeout=120)
    assert result.stdout == "cudaErrorLaunchTimeout\n"
    assert any("the loop of a conditional node" in message for message in result.report.messages)
