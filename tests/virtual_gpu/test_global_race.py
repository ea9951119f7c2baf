"""Races between blocks: what one block leaves for another is theirs to share once a fence and an atomic, or a
flag, stand between the two; and not before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.virtual_gpu.report import Finding
from common.virtual_gpu.session import run_program
from tests.virtual_gpu.small_programs import PREAMBLE, build_text

# Every block leaves a part; the one that counts itself last adds them up. PUBLISH stands between.
LAST_BLOCK = """
#include <cuda/atomic>
__global__ void add_up(float* parts, unsigned* counter, float* sum) {
  __shared__ bool last;
  parts[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    PUBLISH
    last = COUNT == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float total = 0;
  for (int i = 0; i < gridDim.x * blockDim.x; ++i) total += __ldcg(&parts[i]);
  *sum = total;
}
int main() {
  float *parts, *sum;
  unsigned* counter;
  cudaMalloc(&parts, 4 * 64 * 4), cudaMalloc(&sum, 4), cudaMalloc(&counter, 4);
  cudaMemset(counter, 0, 4);
  add_up<<<4, 64>>>(parts, counter, sum);
  float result = 0;
  cudaMemcpy(&result, sum, 4, cudaMemcpyDeviceToHost);
  return result != 4 * 64;
}
"""
# Block 1 waits for a flag of block 0's.
FLAG = """
__global__ void pass_on(int* data, volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 7;
    PUBLISH
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    out[0] = data[0];
  }
}
int main() {
  int* memory;
  cudaMalloc(&memory, 12);
  cudaMemset(memory, 0, 12);
  pass_on<<<2, 1>>>(memory, memory + 1, memory + 2);
  int result = 0;
  cudaMemcpy(&result, memory + 2, 4, cudaMemcpyDeviceToHost);
  return result != 7;
}
"""
# The last block clears what the others have read.
CLEAR = """
__global__ void read_and_clear(int* data, unsigned* counter, int* out) {
  out[blockIdx.x] = data[0];
  PUBLISH
  if (atomicAdd(counter, 1u) == gridDim.x - 1) data[0] = 0;
}
int main() {
  int* memory;
  cudaMalloc(&memory, 64);
  cudaMemset(memory, 0, 64);
  read_and_clear<<<4, 1>>>(memory, reinterpret_cast<unsigned*>(memory + 1), memory + 2);
  return cudaDeviceSynchronize();
}
"""
COUNTS = """
__global__ void count(int* bins) { atomicAdd(&bins[threadIdx.x % 4], 1); }
int main() {
  int* bins;
  cudaMalloc(&bins, 16);
  cudaMemset(bins, 0, 16);
  count<<<8, 64>>>(bins);
  return cudaDeviceSynchronize();
}
"""
PLAIN_COUNT = "atomicAdd(counter, 1u)"
RELEASING_COUNT = (
    "cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*counter).fetch_add(1, cuda::memory_order_acq_rel)"
)
IN_BLOCK_COUNT = (
    "cuda::atomic_ref<unsigned, cuda::thread_scope_block>(*counter).fetch_add(1, cuda::memory_order_acq_rel)"
)


def findings(folder: Path, text: str) -> list[Finding]:
    program = build_text(folder, text)
    run = run_program(
        program,
        options={"global_race": "on"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    assert run.status == 0, run.stdout + run.stderr
    return list(run.report.findings)


def line_of(text: str, part: str) -> int:
    return (PREAMBLE + text).split("\n").index(next(line for line in text.split("\n") if part in line)) + 1


@pytest.mark.parametrize("fence", ["__threadfence();", "__threadfence_system();"])
def test_a_fence_before_the_counter_makes_parts_everybodys(tmp_path: Path, fence: str):
    text = LAST_BLOCK.replace("PUBLISH", fence).replace("COUNT", PLAIN_COUNT)
    assert findings(tmp_path, text) == []


def test_so_does_a_counter_that_releases(tmp_path: Path):
    assert findings(tmp_path, LAST_BLOCK.replace("PUBLISH", "").replace("COUNT", RELEASING_COUNT)) == []


@pytest.mark.parametrize(
    ("publish", "count"), [("", PLAIN_COUNT), ("__threadfence_block();", PLAIN_COUNT), ("", IN_BLOCK_COUNT)]
)
def test_without_one_the_last_block_reads_what_may_not_be_there(tmp_path: Path, publish: str, count: str):
    text = LAST_BLOCK.replace("PUBLISH", publish).replace("COUNT", count)
    (race,) = findings(tmp_path, text)
    assert race.kind == "race"
    assert race.line == line_of(text, "__ldcg")
    assert race.other[0].line == line_of(text, "parts[blockIdx.x * blockDim.x")
    assert "__threadfence() between them and the atomic" in race.advice


def test_a_flag_carries_what_was_fenced_before_it(tmp_path: Path):
    assert findings(tmp_path, FLAG.replace("PUBLISH", "__threadfence();")) == []


def test_a_flag_alone_carries_nothing(tmp_path: Path):
    text = FLAG.replace("PUBLISH", "")
    (race,) = findings(tmp_path, text)
    assert race.line == line_of(text, "out[0] = data[0];")


def test_what_others_have_read_may_be_overwritten_after_they_have_said_so(tmp_path: Path):
    assert findings(tmp_path, CLEAR.replace("PUBLISH", "__threadfence();")) == []
    assert findings(tmp_path, CLEAR.replace("PUBLISH", "")) != []


def test_atomics_do_not_race_with_each_other(tmp_path: Path):
    assert findings(tmp_path, COUNTS) == []
