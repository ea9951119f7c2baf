"""What a barrier of the whole grid costs: it grows with the blocks, not with their square."""

from __future__ import annotations

import pytest

from common.virtual_gpu.session import run_program
from tests.virtual_gpu.small_programs import build_text

TEXT = """
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
__device__ unsigned arrived;
__global__ void library(unsigned* sum) {
  atomicAdd(sum, 1u);
  cooperative_groups::this_grid().sync();
  if (*sum != gridDim.x) __trap();
}
__global__ void own(unsigned* sum) {
  atomicAdd(sum, 1u);
  __threadfence();
  atomicAdd(&arrived, 1u);
  while (*(volatile unsigned*)&arrived < gridDim.x) {
  }
  __threadfence();
  if (*(volatile unsigned*)sum != gridDim.x) __trap();
}
int main(int, char** words) {
  unsigned* sum;
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  void* arguments[] = {&sum};
  const void* kernel = words[1][0] == 'l' ? (const void*)library : (const void*)own;
  cudaLaunchCooperativeKernel(kernel, std::atoi(words[2]), 1, arguments, 0, nullptr);
  std::printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(sum);
}
"""


def instructions(kernel: str, blocks: int) -> int:
    result = run_program(build_text(TEXT), [kernel, str(blocks)], stdout=-1, stderr=-1, timeout=120)
    assert result.stdout == "cudaSuccess", result.stdout + result.stderr
    assert not result.report.findings
    (launch,) = result.report.launches
    return launch.counters.warp_instructions


@pytest.mark.parametrize("kernel", ["library", "own"])
def test_four_times_the_blocks_take_about_four_times_the_instructions(kernel):
    assert instructions(kernel, 512) < 6 * instructions(kernel, 128)
