"""The timeline of a few warps: what the cost model's replay did, in order, and only when asked for."""

from __future__ import annotations

import dataclasses
import subprocess

from common.virtual_gpu.report import Launch, Report, Timeline
from common.virtual_gpu.session import run_program
from tests.virtual_gpu.small_programs import build_text

# Its own first line is line 4.
PROGRAM = """#include <cuda_pipeline.h>
__global__ void staged(const float4* in, float4* out) {
  __shared__ float4 stage[64];
  __pipeline_memcpy_async(&stage[threadIdx.x], &in[blockIdx.x * 64 + threadIdx.x], 16);
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < 20; ++i) sum = sum * 1.5f + threadIdx.x;
  __pipeline_wait_prior(0);
  __syncthreads();
  float4 mine = stage[63 - threadIdx.x];
  mine.x += sum;
  out[blockIdx.x * 64 + threadIdx.x] = mine;
}
int main() {
  float4 *in, *out;
  cudaMalloc(&in, 1 << 20);
  cudaMalloc(&out, 1 << 20);
  cudaMemset(in, 0, 1 << 20);
  for (int i = 0; i < 10; ++i) staged<<<512, 64>>>(in, out);
  return cudaDeviceSynchronize();
}
"""
WAIT_LINE, COPY_LINE = 11, 7


def launches(**options: object) -> tuple[Launch, ...]:
    program = build_text(PROGRAM)
    run = run_program(program, options=options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert run.status == 0, run.stderr
    return run.report.launches


def timeline(launch: Launch) -> Timeline:
    assert launch.timeline is not None
    return launch.timeline


def test_a_copy_travels_while_its_warp_computes_and_then_waits():
    shown = timeline(launches(timeline=4)[0])
    assert not shown.cut
    assert shown.cycles_per_second == 1.98e9
    assert shown.resident >= 1
    assert {span.warp for span in shown.spans} == {0, 1}
    for warp in (0, 1):
        spans = [span for span in shown.spans if span.warp == warp]
        assert all(span.wanted <= span.issued <= span.done for span in spans)
        assert [span.issued for span in spans] == sorted(span.issued for span in spans)
        (copy,) = [span for span in spans if span.kind == "async copy"]
        (wait,) = [span for span in spans if span.kind == "async wait"]
        (barrier,) = [span for span in spans if span.kind == "barrier"]
        assert copy.line == COPY_LINE
        assert wait.line == WAIT_LINE
        assert any(copy.issued < span.issued < copy.done for span in spans if span.kind == "math")
        assert wait.issued >= copy.done
        assert wait.issued - wait.wanted > 100
        assert barrier.done > barrier.issued
        assert [span.kind for span in spans if span.issued > barrier.issued].count("shared load") == 1


def test_it_is_there_only_when_asked_for_and_changes_no_time():
    without, with_it = launches(), launches(timeline=1)
    assert all(launch.timeline is None for launch in without)
    assert [one.modelled_seconds for one in without] == [one.modelled_seconds for one in with_it]
    assert {span.warp for span in timeline(with_it[0]).spans} == {0}


def test_only_the_first_launches_have_one():
    assert [launch.timeline is not None for launch in launches(timeline=2)] == [True] * 8 + [False] * 2


def test_it_is_the_same_on_any_number_of_threads():
    one, two = (timeline(launches(timeline=2, threads=n)[0]) for n in (1, 2))
    assert one == two


def test_a_report_with_a_timeline_survives_plain_data():
    (first, *_) = launches(timeline=2)
    plain = Report(launches=(first,)).to_dict()
    (again,) = Report.from_dict(plain).launches
    assert again.timeline == first.timeline
    assert dataclasses.asdict(again) == dataclasses.asdict(first)
