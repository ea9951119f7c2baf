"""Races between blocks: what one block leaves for another is theirs to share once a fence and an atomic, or a
flag, stand between the two; and not before."""

from __future__ import annotations

from functools import cache

import pytest

from common.virtual_gpu.report import Finding
from tests.virtual_gpu.programs_together import ProgramsTogether
from tests.virtual_gpu.small_programs import PREAMBLE, build_texts

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
# Neighbouring blocks write neighbouring bytes of one word; with REACH they write one more.
BYTES = """
__global__ void fill(unsigned char* out) {
  for (int i = threadIdx.x; i < 3 + REACH; i += blockDim.x) out[3 * blockIdx.x + i] = 1;
}
int main() {
  unsigned char* out;
  cudaMalloc(&out, 64);
  fill<<<4, 32>>>(out);
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


PROGRAMS = {
    "unfenced": LAST_BLOCK.replace("PUBLISH", "").replace("COUNT", PLAIN_COUNT),
    "fenced": LAST_BLOCK.replace("PUBLISH", "__threadfence();").replace("COUNT", PLAIN_COUNT),
    "fenced_for_all": LAST_BLOCK.replace("PUBLISH", "__threadfence_system();").replace("COUNT", PLAIN_COUNT),
    "fenced_in_block": LAST_BLOCK.replace("PUBLISH", "__threadfence_block();").replace("COUNT", PLAIN_COUNT),
    "released": LAST_BLOCK.replace("PUBLISH", "").replace("COUNT", RELEASING_COUNT),
    "released_in_block": LAST_BLOCK.replace("PUBLISH", "").replace("COUNT", IN_BLOCK_COUNT),
    "flag": FLAG.replace("PUBLISH", ""),
    "flag_after_fence": FLAG.replace("PUBLISH", "__threadfence();"),
    "clear": CLEAR.replace("PUBLISH", ""),
    "clear_after_fence": CLEAR.replace("PUBLISH", "__threadfence();"),
    "counts": COUNTS,
    "neighbouring_bytes": BYTES.replace("REACH", "0"),
    "shared_bytes": BYTES.replace("REACH", "1"),
}


@cache
def programs() -> ProgramsTogether:
    return build_texts(PROGRAMS)


def findings(name: str) -> list[Finding]:
    run = programs().run(name, options={"global_race": "on"}, timeout=60)
    assert run.status == 0, run.stdout + run.stderr
    return list(run.report.findings)


def line_of(name: str, part: str) -> int:
    lines = (PREAMBLE + PROGRAMS[name]).split("\n")
    return next(number for number, line in enumerate(lines, start=1) if part in line)


@pytest.mark.parametrize("name", ["fenced", "fenced_for_all"])
def test_a_fence_before_the_counter_makes_parts_everybodys(name: str):
    assert findings(name) == []


def test_so_does_a_counter_that_releases():
    assert findings("released") == []


@pytest.mark.parametrize("name", ["unfenced", "fenced_in_block", "released_in_block"])
def test_without_one_the_last_block_reads_what_may_not_be_there(name: str):
    (race,) = findings(name)
    assert race.kind == "race"
    assert race.line == line_of(name, "__ldcg")
    assert race.other[0].line == line_of(name, "parts[blockIdx.x * blockDim.x")
    assert "__threadfence() between them and the atomic" in race.advice
    assert "__syncthreads() before that fence" in race.advice


def test_a_flag_carries_what_was_fenced_before_it():
    assert findings("flag_after_fence") == []


def test_a_flag_alone_carries_nothing():
    (race,) = findings("flag")
    assert race.line == line_of("flag", "out[0] = data[0];")


def test_what_others_have_read_may_be_overwritten_after_they_have_said_so():
    assert findings("clear_after_fence") == []
    assert findings("clear") != []


def test_atomics_do_not_race_with_each_other():
    assert findings("counts") == []


def test_blocks_may_write_different_bytes_of_a_word():
    assert findings("neighbouring_bytes") == []


def test_but_not_the_same_byte():
    (found,) = findings("shared_bytes")
    assert (found.kind, found.line) == ("race", line_of("shared_bytes", "out[3 * blockIdx.x + i] = 1"))
