"""Calls in a graph are modelled on what filling their memory left in L2; margins hold what was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.cost import modelled
from common.virtual_gpu.profiles import find_profile
from common.virtual_gpu.report import Report
from common.virtual_gpu.session import run_program
from grader.spec import CALLS_IN_A_GRAPH, registry
from grader.timing.modelled.margin import model_margin, timed_errors
from tests.virtual_gpu.test_cost import launches_of

GAP = find_profile("h200").graph_gap_us * 1e-6
SMALL, LARGE = "copy_256k_16_bytes", "copy_16m_16_bytes"


def in_graph(case: str) -> tuple:
    return launches_of("copies", case, calls_in_graph=CALLS_IN_A_GRAPH)


def test_only_who_asks_for_a_graph_gets_its_time():
    (launch,) = launches_of("copies", SMALL)
    assert launch.cost.in_graph is None
    assert modelled([launch], GAP).seconds == pytest.approx(GAP + launch.cost.body_seconds)


def test_calls_that_fit_into_l2_together_wait_for_l2_alone():
    (launch,) = in_graph(SMALL)
    assert launch.cost.in_graph is not None
    assert launch.cost.in_graph.terms["dram"] == 0
    assert launch.cost.in_graph.body_seconds < 0.8 * launch.cost.body_seconds
    assert "L2 round trip" in launch.cost.in_graph.sentence
    assert "DRAM round trip" in launch.cost.sentence
    assert modelled([launch], GAP).seconds == pytest.approx(GAP + launch.cost.in_graph.body_seconds)


def test_calls_that_do_not_fit_make_dram_write_what_was_there_before():
    (launch,) = in_graph(LARGE)
    assert launch.cost.in_graph is not None
    assert launch.cost.in_graph.terms["dram"] > 1.05 * launch.cost.terms["dram"]
    assert launch.cost.in_graph.body_seconds > launch.cost.body_seconds


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_at_most_one_measured_time_in_twenty_is_outside_of_the_margin(exercise):
    errors = timed_errors(exercise, "h200")
    assert len(errors) >= 5
    outside = [place for place, error in errors.items() if error > model_margin(exercise)]
    assert len(outside) <= len(errors) / 20


def test_a_launch_that_leaves_at_once_brings_no_code_for_the_next(tmp_path: Path):
    """Only what warps have run is in a cache: launching a kernel to do nothing first gains nothing."""
    source = tmp_path / "code.cu"
    source.write_text("""
__global__ void large(float* out, int rounds) {
  if (rounds == 0) return;
  float x = out[threadIdx.x];
#pragma unroll
  for (int i = 0; i < 1000; ++i) x = x * 1.0001f + __int_as_float(i * rounds);
  out[threadIdx.x] = x;
}
int main() {
  float* out;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  for (int rounds : {1, 1}) large<<<1, 32>>>(out, rounds);
  return cudaDeviceSynchronize();
}
""")
    first, again = (launch.cost.terms["code"] for launch in run(source).launches[:2])
    assert first > 0.5e-6
    assert again == 0
    source.write_text(source.read_text().replace("{1, 1}", "{0, 1}"))
    nothing, then = (launch.cost.terms["code"] for launch in run(source).launches[:2])
    assert nothing == 0
    assert then > 0.5e-6


def run(source: Path) -> Report:
    built = build_program([source], Target.virtual()).path
    return run_program(built, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE).report
