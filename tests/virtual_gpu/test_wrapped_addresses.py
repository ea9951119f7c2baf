"""An address just below the end of its range, or of all numbers, is outside: adding a size must not wrap."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program

PROGRAM = r"""
__global__ void shared(int* p, unsigned at) {
  extern __shared__ int slots[];
  slots[threadIdx.x] = 1;
  __syncthreads();
  int value;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(at));
  p[threadIdx.x] = value;
}
int main() {
  int* p;
  cudaMalloc(&p, 128);
  shared<<<1, 32, 128>>>(p, 0xfffffffcu);
  return cudaDeviceSynchronize() == cudaSuccess;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("wrapped") / "wrapped.cu"
    source.write_text(PROGRAM)
    return build_program([source], Target.virtual("90")).path


def test_an_access_to_shared_memory_that_wraps_is_found(program: Path):
    run = run_program(program, timeout=60, stdout=-1)
    assert run.status == 0, run.ending
    assert "memory" in {finding.kind for finding in run.report.findings}
