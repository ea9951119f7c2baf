"""Several threads store in one word: different values are a finding, the same value is a note."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from common.virtual_gpu.report import Report
from tests.virtual_gpu.small_programs import build_text, run_program

PROGRAM = r"""
#include <cstring>
__global__ void lanes_to_global(int* out) { out[threadIdx.x / 8] = threadIdx.x; }
__global__ void lanes_agree(int* out) { out[threadIdx.x / 8] = threadIdx.x / 32; }
__global__ void each_its_own(int* out) { out[(threadIdx.x * 5) % 64] = threadIdx.x; }
__global__ void warps_agree(int* out) {
  __shared__ int flag;
  flag = out[63] + 3;
  __syncthreads();
  out[threadIdx.x] = flag;
}
__global__ void warps_differ(int* out) {
  __shared__ int flag;
  flag = threadIdx.x / 32;
  __syncthreads();
  out[threadIdx.x] = flag;
}
int main(int, char** arguments) {
  int *out, host[64];
  cudaMalloc(&out, sizeof host);
  cudaMemset(out, 0, sizeof host);
#define RUN(kernel) if (std::strcmp(arguments[1], #kernel) == 0) kernel<<<1, 64>>>(out);
  RUN(lanes_to_global) RUN(lanes_agree) RUN(each_its_own) RUN(warps_agree) RUN(warps_differ)
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(out);
  std::printf("%d %d\n", host[0], host[1]);
  return 0;
}
"""


@cache
def built() -> Path:
    return build_text(PROGRAM)


def report_of(kernel: str) -> tuple[Report, str]:
    run = run_program(built(), [kernel], stdout=-1, stderr=-1, timeout=60)
    assert run.status == 0, run.ending
    return run.report, run.stdout


def test_different_values_of_lanes_are_a_finding_and_the_lowest_lane_stays() -> None:
    report, printed = report_of("lanes_to_global")
    assert [found.mistake for found in report.findings] == ["LanesCollide"]
    assert "offset 0 of cudaMalloc #1" in report.findings[0].message
    assert report.findings[0].place[0].line == 6
    assert printed == "0 8\n"


def test_lanes_that_agree_or_store_apart_are_no_finding() -> None:
    for kernel in ("lanes_agree", "each_its_own"):
        report, _ = report_of(kernel)
        assert not report.findings
        assert not report.notes


def test_the_same_value_from_two_warps_is_a_note() -> None:
    report, printed = report_of("warps_agree")
    assert not report.findings
    (note,) = report.notes
    assert (note.kind, note.place[0].line) == ("note", 11)
    assert "the same value" in note.message
    assert "Let one thread store it" in note.advice
    assert printed == "3 3\n"


def test_different_values_from_two_warps_are_a_race() -> None:
    report, _ = report_of("warps_differ")
    assert {found.kind for found in report.findings} == {"race"}
    assert not report.notes
