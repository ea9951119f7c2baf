"""A loop in which threads wait for others is reported with its line: the cost model has no time for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.virtual_gpu.programs_together import ProgramsTogether
from tests.virtual_gpu.small_programs import PREAMBLE, build_texts

MAIN = """
int main() {
  int *data, *out;
  cudaMalloc(&data, 4096), cudaMalloc(&out, 4096);
  cudaMemset(data, 0, 4096), cudaMemset(out, 0, 4096);
  kernel<<<2, 64>>>(data, out);
  return cudaDeviceSynchronize();
}
"""
# The line of the loop is marked. Block 0 runs first here, so that none of them waits long.
WAITING = {
    "volatile": """
__global__ void kernel(int* data, int* out) {
  if (blockIdx.x == 0) *static_cast<volatile int*>(data) = 1;
  while (*static_cast<volatile int*>(data) == 0) {}  // here
}""",
    "acquire": """
__global__ void kernel(int* data, int* out) {
  if (blockIdx.x == 0) *static_cast<volatile int*>(data) = 1;
  int seen;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(data) : "memory");  // here
  while (seen == 0);
}""",
    "a lock": """
__global__ void kernel(int* data, int* out) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(data, 0, 1) != 0) {}  // here
  out[0] += 1;
  __threadfence();
  atomicExch(data, 0);
}""",
    "an exchange": """
__global__ void kernel(int* data, int* out) {
  if (threadIdx.x != 0) return;
  while (atomicExch(data, 1) != 0) {}  // here
  out[0] += 1;
  __threadfence();
  atomicExch(data, 0);
}""",
    "an addition of nothing": """
__global__ void kernel(int* data, int* out) {
  if (blockIdx.x == 0) atomicExch(data, 1);
  while (atomicAdd(data, 0) == 0) {}  // here
}""",
    "a clock": """
__global__ void kernel(int* data, int* out) {
  const long long begin = clock64();
  while (clock64() - begin < 1000) {}  // here
}""",
    "one of several exits": """
__global__ void kernel(int* data, int* out) {
  if (blockIdx.x == 0) *static_cast<volatile int*>(data) = 1;
  for (int i = 0; i < 1000; ++i)
    if (*static_cast<volatile int*>(data) == 1) return;  // here
}""",
}
NOT_WAITING = {
    "a queue of work": """
__global__ void kernel(int* data, int* out) {
  __shared__ int next;
  while (true) {
    if (threadIdx.x == 0) next = atomicAdd(data, 1);
    __syncthreads();
    const int mine = next;
    __syncthreads();
    if (mine >= 8) return;
    if (threadIdx.x == 0) out[mine] = mine;
  }
}""",
    "a swap that is tried again": """
__global__ void kernel(int* data, int* out) {
  int old = *data, assumed;
  do {
    assumed = old;
    old = atomicCAS(data, assumed, max(assumed, static_cast<int>(threadIdx.x)));
  } while (old != assumed);
}""",
    "the last block": """
__global__ void kernel(int* data, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(data, 1) == gridDim.x - 1;
  }
  __syncthreads();
  for (int i = threadIdx.x; last && i < 128; i += 64) out[i] = static_cast<volatile int*>(data)[i + 1];
}""",
    "a bound that is loaded in every round": """
__global__ void kernel(int* data, int* out) {
  for (int i = threadIdx.x; i < data[0] + 100; i += 64) out[i] = i;
}""",
    "a clock beside the work": """
__global__ void kernel(int* data, int* out) {
  const long long begin = clock64();
  for (int i = 0; i < 10; ++i) out[threadIdx.x] += i;
  data[threadIdx.x] = static_cast<int>(clock64() - begin);
}""",
}


@cache
def programs() -> ProgramsTogether:
    return build_texts(
        {name.replace(" ", "_"): text + MAIN for name, text in (WAITING | NOT_WAITING).items()}
    )


def waits_at(name: str) -> str:
    run = programs().run(name.replace(" ", "_"), timeout=60)
    assert run.status == 0, run.stdout + run.stderr
    (launch,) = run.report.launches
    return launch.waits_at


@pytest.mark.parametrize("name", WAITING)
def test_a_loop_that_waits_is_reported(name: str):
    lines = (PREAMBLE + WAITING[name]).split("\n")
    line = next(number for number, text in enumerate(lines, start=1) if "// here" in text)
    file, _, number = waits_at(name).rpartition(":")
    assert (Path(file).stem, int(number)) == (name.replace(" ", "_"), line)


@pytest.mark.parametrize("name", NOT_WAITING)
def test_other_loops_are_not(name: str):
    assert waits_at(name) == ""
