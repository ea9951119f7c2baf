"""Atomics on vectors are one access: checked and counted with all of their elements."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from common.build.program import Target, build_program
from common.virtual_gpu.report import Report
from tests.virtual_gpu.small_programs import run_program, source_of

PROGRAM = r"""
#include <cstring>
__global__ void aligned(float* out) { atomicAdd((float4*)out + threadIdx.x, float4{1, 2, 3, 4}); }
__global__ void between(float* out) { atomicAdd(reinterpret_cast<float4*>(out + 2), float4{1, 2, 3, 4}); }
__global__ void beyond(float* out) { atomicAdd(reinterpret_cast<float2*>(out + 256), float2{1, 2}); }
__global__ void never_written(float* out) {
  __shared__ float held[2];
  atomicAdd(reinterpret_cast<float2*>(out), float2{1, held[threadIdx.x % 2]});
}
int main(int, char** arguments) {
  float *out, host[256];
  cudaMalloc(&out, sizeof host);
  cudaMemset(out, 0, sizeof host);
#define RUN(kernel) if (std::strcmp(arguments[1], #kernel) == 0) kernel<<<1, 32>>>(out);
  RUN(aligned) RUN(between) RUN(beyond) RUN(never_written)
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g %g\n", host[1], host[127]);
  cudaFree(out);
  return 0;
}
"""


@cache
def built() -> Path:
    return build_program([source_of(PROGRAM)], Target.virtual("90")).path


def report_of(kernel: str) -> tuple[Report, str]:
    run = run_program(built(), [kernel], stdout=-1, stderr=-1, timeout=60)
    return run.report, run.stdout


def test_one_request_has_the_bytes_of_all_elements() -> None:
    report, printed = report_of("aligned")
    assert not report.findings
    (launch,) = report.launches
    assert launch.counters.global_atomic_requests == 1
    assert launch.counters.global_atomic_bytes == 32 * 16
    assert printed == "cudaSuccess\n2 4\n"


def test_a_vector_begins_at_a_multiple_of_its_size() -> None:
    report, printed = report_of("between")
    assert [(found.mistake, found.place[0].line) for found in report.findings] == [("Misaligned", 7)]
    assert printed.startswith("cudaErrorMisalignedAddress")


def test_all_elements_lie_inside_of_the_allocation() -> None:
    report, _ = report_of("beyond")
    assert [(found.kind, found.place[0].line) for found in report.findings] == [("memory", 8)]


def test_every_element_has_been_written() -> None:
    report, _ = report_of("never_written")
    assert [(found.kind, found.place[0].line) for found in report.findings] == [("init", 11)]
