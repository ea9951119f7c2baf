"""Advice follows from what happened, in the words of the interface that the kernel uses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.report import Finding
from common.virtual_gpu.session import run_program
from grader.building.build import HEADERS

PROGRAM = """
#include <cuda_pipeline.h>
#include "cp_async.cuh"

__device__ void begin(int how, float4* to, const float4* from) {
  if (how == 0) __pipeline_memcpy_async(to, from, 16);
  if (how == 1) copy_16_bytes_async(to, from);
  if (how == 2)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}
template <int kHow>
__global__ void too_lax(const float4* in, float4* out) {
  __shared__ float4 tile[2][32];
  for (int i = 0; i < 2; ++i) {
    begin(kHow, &tile[i][threadIdx.x], in + threadIdx.x);
    __pipeline_commit();
  }
  __pipeline_wait_prior(2);
  out[threadIdx.x] = tile[0][threadIdx.x];
  __pipeline_wait_prior(0);
}
template <int kHow>
__global__ void no_commit(const float4* in, float4* out) {
  __shared__ float4 tile[32];
  begin(kHow, &tile[threadIdx.x], in + threadIdx.x);
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void commits_after_the_wait(const float4* in, float4* out) {
  __shared__ float4 tile[2][32];
  begin(0, &tile[0][threadIdx.x], in + threadIdx.x);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  begin(0, &tile[1][threadIdx.x], in + threadIdx.x);
  __pipeline_commit();
  out[threadIdx.x] = tile[0][threadIdx.x];
  __pipeline_wait_prior(0);
}
template <bool kBefore, bool kBehind>  // where a barrier stands: before the reads, and behind them
__global__ void two_rounds(const float4* in, float4* out) {
  __shared__ float4 tile[64];
  for (int round = 0; round < 2; ++round) {
    begin(0, &tile[threadIdx.x], in + threadIdx.x);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (kBefore) __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
    if (kBehind) __syncthreads();
  }
}
__global__ void first_reads_all(float* out) {  // the notebook's first race: no barrier before the reads
  __shared__ float computed[64];
  computed[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0)
    for (int i = 0; i < blockDim.x; ++i) *out += computed[i];
}
__global__ void warps_apart(float* out) {  // a race inside each warp alone
  __shared__ float computed[64];
  computed[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = computed[threadIdx.x ^ 1];
}
__global__ void one_slot(int* out) {
  __shared__ int slot[32];
  slot[threadIdx.x] = threadIdx.y;
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = slot[threadIdx.x];
}
__global__ void unrolled_slots(float* out) {  // one line, two instructions: elements 1 to 31 are stored twice
  __shared__ float slot[65];
#pragma unroll
  for (int i = 0; i < 2; ++i) slot[threadIdx.x + i] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = slot[threadIdx.x];
}
__global__ void copied_twice(const float4* in, float4* out) {  // row 1's pieces go where row 0's are
  __shared__ float4 tile[64];
  for (int i = 0; i < 2; ++i) {
    begin(0, &tile[(threadIdx.x + i) % 64], in + threadIdx.x);
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
  float4 *in, *out;
  cudaMalloc(&in, 4096);
  cudaMalloc(&out, 4096);
  cudaMemset(in, 0, 4096);
  cudaMemset(out, 0, 4096);
  KERNEL;
  return cudaDeviceSynchronize();
}
"""


def finding_of(folder: Path, kernel: str) -> Finding:
    source = folder / "advice.cu"
    source.write_text(PROGRAM.replace("KERNEL", kernel))
    built = build_program([source], Target.virtual(), include_dirs=[HEADERS]).path
    ran = run_program(built, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    (cause,) = by_cause(ran.report.findings)
    return cause.finding


@pytest.mark.parametrize(
    ("how", "commit", "wait"),
    [
        (0, "__pipeline_commit()", "__pipeline_wait_prior(N)"),
        (1, "commit_copies()", "wait_for_copies<N>()"),
        (2, "cp.async.commit_group", "cp.async.wait_group N"),
    ],
)
def test_a_lax_wait_and_a_missing_commit_are_distinguished(tmp_path: Path, how: int, commit: str, wait: str):
    lax = finding_of(tmp_path, f"too_lax<{how}><<<1, 32>>>(in, out)")
    assert lax.kind == "async"
    assert f"{wait} leaves the newest N groups in flight, and one was committed after this one" in lax.advice
    assert lax.advice.endswith("N must be 1 or less.")
    missing = finding_of(tmp_path, f"no_commit<{how}><<<1, 32>>>(in, out)")
    assert missing.kind == "async"
    assert missing.advice.startswith("The copy belongs to no group yet")
    assert f"Put {commit} behind the copies" in missing.advice


def test_groups_that_were_committed_after_a_wait_do_not_count_for_it(tmp_path: Path):
    found = finding_of(tmp_path, "commits_after_the_wait<<<1, 32>>>(in, out)")
    assert found.advice.startswith("The last wait left the copy in flight")
    assert found.advice.endswith("none was committed after this one before that wait, so N must be 0.")


def test_a_reader_that_was_too_early_and_a_copy_that_was_are_distinguished(tmp_path: Path):
    early_read = finding_of(tmp_path, "two_rounds<false, true><<<1, 64>>>(in, out)")
    assert early_read.kind == "race"
    assert "The barrier belongs between the wait and this line." in early_read.advice
    early_copy = finding_of(tmp_path, "two_rounds<true, false><<<1, 64>>>(in, out)")
    assert early_copy.kind == "async"
    assert "A stage may be refilled only when every thread is done reading it" in early_copy.advice


@pytest.mark.parametrize("barriers", ["false, true", "true, false"])
def test_lanes_of_a_warp_get_the_advice_to_meet_in_their_warp(tmp_path: Path, barriers: str):
    found = finding_of(tmp_path, f"two_rounds<{barriers}><<<1, 32>>>(in, out)")
    assert "__syncwarp()" in found.advice
    assert "__syncthreads()" not in found.advice


def test_advice_follows_from_who_raced(tmp_path: Path):
    among_warps = finding_of(tmp_path, "first_reads_all<<<1, 64>>>(&out->x)")
    assert among_warps.between == "warps"
    assert among_warps.advice.endswith("put __syncthreads() between the two accesses.")
    one_warp = finding_of(tmp_path, "first_reads_all<<<1, 32>>>(&out->x)")
    assert one_warp.between == "lanes"
    assert one_warp.advice.endswith("put __syncwarp() between the two accesses.")
    in_each = finding_of(tmp_path, "warps_apart<<<1, 64>>>(&out->x)")
    assert in_each.between == "lanes"
    assert "__syncwarp() (or __syncthreads(), where other warps use these elements)" in in_each.advice


def test_a_line_that_was_unrolled_is_one_line(tmp_path: Path):
    found = finding_of(tmp_path, "unrolled_slots<<<1, 64>>>(&out->x)")
    assert "Both threads store by this line" in found.advice


def test_the_advice_for_copies_of_two_threads_to_one_place_is_not_a_barrier(tmp_path: Path):
    found = finding_of(tmp_path, "copied_twice<<<1, 64>>>(in, out)")
    assert found.mistake == "CopyOverWrite"
    assert "Both threads copy by this line" in found.advice
    assert "differ in threadIdx.x, and no barrier helps" in found.advice


def test_the_advice_for_threads_with_one_index_names_what_distinguishes_them(tmp_path: Path):
    found = finding_of(tmp_path, "one_slot<<<1, dim3(32, 2)>>>(reinterpret_cast<int*>(out))")
    assert found.kind == "race"
    assert (
        "the index must tell threads apart that differ in threadIdx.y, and no barrier helps" in found.advice
    )
