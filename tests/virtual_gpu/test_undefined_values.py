"""A value that nothing has defined is reported if it matters, at the line that read it, and only then."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from common.virtual_gpu.report import Finding
from tests.virtual_gpu.small_programs import PREAMBLE, build_text, run_program

# Each kernel is "name" in the table below; a comment marks the line of its finding.
PROGRAM = r"""
#include <cstring>
struct Padded { double a; int b; };
struct alignas(16) Rounded { float x, y, z; };

__device__ int filled(int* tile, int n) {
  const int t = threadIdx.x;
  if (t < n) tile[t] = t;
  __syncthreads();
  return t;
}
__global__ void reads_and_selects(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  const int value = tile[t];
  out[t] = t < n ? value : 0;
}
__global__ void condition_decides_before_it(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  const bool large = tile[t] > 7;
  if ((t < n) & large) out[t] = 1;
}
__global__ void stores_sum(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  out[t] = tile[t] + 1;  // stores_sum
}
__global__ void stores_copy(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  out[t] = tile[t];  // stores_copy
}
__global__ void branches(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  if (tile[t] > 7)  // branches
    for (int i = 0; i < t; ++i) out[i] = t;
}
__global__ void addresses(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  out[tile[t] & 63] = 1;  // addresses
}
__global__ void adds_atomically(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  atomicAdd(out, tile[t]);  // adds_atomically
}
__global__ void passes_through_shared_memory(int* out, int n) {
  __shared__ int tile[64], copy[64];
  const int t = filled(tile, n);
  copy[t] = tile[t] * 2;  // passes_through_shared_memory
  __syncthreads();
  if (t == 0) out[0] = copy[63];
}
__global__ void overwrites_it(int* out, int n) {
  __shared__ int tile[64], copy[64];
  const int t = filled(tile, n);
  copy[t] = tile[t] * 2;
  __syncthreads();
  copy[t] = t;
  __syncthreads();
  out[t] = copy[63 - t];
}
__global__ void passes_through_a_shuffle(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  int value = tile[t];  // passes_through_a_shuffle
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  out[t] = value;
}
__noinline__ __device__ int twice(int value) { return 2 * value; }
__global__ void passes_through_a_call(int* out, int n) {
  __shared__ int tile[64];
  const int t = filled(tile, n);
  out[t] = twice(tile[t]);  // passes_through_a_call
}
__global__ void sums_local_array(int* out, int n) {
  int counts[8];
  for (int i = 0; i < 8; ++i)
    if (i != n % 8) counts[i] = i;
  out[threadIdx.x] = counts[(threadIdx.x + n) % 8] + 1;  // sums_local_array
}
__global__ void copies_padding(int* out, int n) {
  __shared__ Padded tile[64];
  const int t = threadIdx.x;
  Padded* from = reinterpret_cast<Padded*>(out) + 64;
  Rounded* round = reinterpret_cast<Rounded*>(out) + 128;
  from[t].a = t;
  from[t].b = n;
  round[t].x = round[t].y = round[t].z = t;
  __syncthreads();
  tile[t] = from[t ^ 1];
  __syncthreads();
  from[t] = tile[t ^ 1];
  round[64 + t] = round[t];
  __syncthreads();
  out[t] = from[t].b + static_cast<int>(round[64 + t].z);
}
__global__ void shuffles_from_nowhere(int* out, int n) {
  const int t = threadIdx.x;
  if (t >= 40) return;
  const int other = __shfl_down_sync(__activemask(), t, 8);  // shuffles_from_nowhere
  out[t] = other;
}
__global__ void shuffles_and_drops(int* out, int n) {
  const int t = threadIdx.x;
  if (t >= 40) return;
  const int other = __shfl_down_sync(__activemask(), t, 4);
  out[t] = t < 28 || (t >= 32 && t < 36) ? other : 0;
}
__global__ void whole_warp_leaves(int* out, int n) {
  __shared__ int tile[64];
  const int t = threadIdx.x;
  if (t >= 32) return;
  tile[t] = t;
  __syncthreads();
  out[t] = tile[31 - t];
}
__global__ void part_of_a_warp_leaves(int* out, int n) {
  __shared__ int tile[64];
  const int t = threadIdx.x;
  if (t >= n) return;
  tile[t] = t;
  __syncthreads();  // part_of_a_warp_leaves
  out[t] = tile[n - 1 - t];
}
int main(int, char** arguments) {
  int* out;
  cudaMalloc(&out, 1 << 16);
#define RUN(kernel) if (std::strcmp(arguments[1], #kernel) == 0) kernel<<<1, 64>>>(out, 40);
  RUN(reads_and_selects) RUN(condition_decides_before_it) RUN(stores_sum) RUN(stores_copy) RUN(branches)
  RUN(addresses) RUN(adds_atomically) RUN(passes_through_shared_memory) RUN(overwrites_it)
  RUN(passes_through_a_shuffle) RUN(passes_through_a_call) RUN(sums_local_array) RUN(copies_padding)
  RUN(shuffles_from_nowhere) RUN(shuffles_and_drops) RUN(whole_warp_leaves) RUN(part_of_a_warp_leaves)
  cudaFree(out);
  return 0;
}
"""

# By kernel: the kind of its finding and what the sentence says of the use.
FOUND = {
    "stores_sum": ("init", "reaches global memory"),
    "stores_copy": ("init", "reaches global memory"),
    "branches": ("init", "a branch depends on it"),
    "addresses": ("init", "an address depends on it"),
    "passes_through_shared_memory": ("init", "reaches global memory"),
    "passes_through_a_shuffle": ("init", "reaches global memory"),
    "passes_through_a_call": ("init", "reaches global memory"),
    "sums_local_array": ("init", "reaches global memory"),
    "shuffles_from_nowhere": ("sync", "from lane 8, which does not take part"),
    "part_of_a_warp_leaves": ("sync", "lanes 8-31 of warp 1 never reach"),
}
SILENT = (
    "reads_and_selects",
    "condition_decides_before_it",
    "overwrites_it",
    "copies_padding",
    "shuffles_and_drops",
    "whole_warp_leaves",
)


@cache
def built() -> Path:
    return build_text(PROGRAM)


def findings(kernel: str) -> list[Finding]:
    run = run_program(built(), [kernel], stdout=-1, stderr=-1, timeout=60)
    assert run.status == 0, run.ending
    return [found for found in run.report.findings if found.kind != "leak"]


@pytest.mark.parametrize("kernel", FOUND)
def test_an_undefined_value_that_matters_is_found_where_it_was_read(kernel: str) -> None:
    kind, words = FOUND[kernel]
    first = findings(kernel)[0]
    lines = (PREAMBLE + PROGRAM).splitlines()
    marked = [number for number, text in enumerate(lines, 1) if text.endswith("// " + kernel)]
    assert (first.kind, [first.place[0].line]) == (kind, marked), first.message
    assert words in first.message


def test_an_atomic_uses_its_operand() -> None:
    kinds = {(found.kind, "an atomic uses it" in found.message) for found in findings("adds_atomically")}
    assert ("init", True) in kinds


@pytest.mark.parametrize("kernel", SILENT)
def test_an_undefined_value_that_does_not_matter_is_no_finding(kernel: str) -> None:
    assert [found.message for found in findings(kernel)] == []
