"""Advice about barriers that count (mbarrier) follows from who arrived, and with what."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.finding import Finding
from common.virtual_gpu.session import run_program
from grader.building.build import HEADERS

TILES = 9
PROGRAM = f"""
#include <cstdlib>
#include "mbarrier.cuh"

enum {{ kCrowd, kNoWait, kNoBytes, kParity }};
constexpr int kBytes = 128, kStages = 2, kTiles = {TILES};

__device__ void copy_in(void* to, const void* from, Barrier& full) {{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared_address(to)), "l"(from), "r"(kBytes), "r"(shared_address(&full.state))
               : "memory");
}}

template <int kWrong>
__global__ void ring(const int* in, int* out) {{
  __shared__ alignas(128) int tiles[kStages][kBytes / 4];
  __shared__ Barrier full[kStages], empty[kStages];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {{
    for (int i = 0; i < kStages; ++i) full[i].init(1), empty[i].init(1);
    fence_barriers();
  }}
  __syncthreads();
  if (threadIdx.x >= 32) {{
    for (int i = 0; i < kTiles && lane == 0; ++i) {{
      if (kWrong != kNoWait) empty[i % kStages].wait(i / kStages % 2 ^ 1);
      if (kWrong == kNoBytes) full[i % kStages].arrive();
      if (kWrong != kNoBytes) full[i % kStages].arrive_and_expect(kBytes);
      copy_in(tiles[i % kStages], in, full[i % kStages]);
    }}
    return;
  }}
  for (int i = 0; i < kTiles; ++i) {{
    full[i % kStages].wait(i / kStages % 2 ^ (kWrong == kParity));
    out[lane] += tiles[i % kStages][lane];
    __syncwarp();
    if (kWrong == kCrowd || lane == 0) empty[i % kStages].arrive();
  }}
}}

int main(int, char** arguments) {{
  int *in, *out;
  cudaMalloc(&in, kBytes);
  cudaMalloc(&out, kBytes);
  cudaMemset(in, 0, kBytes);
  cudaMemset(out, 0, kBytes);
  const int wrong = std::atoi(arguments[1]);
  if (wrong == kCrowd) ring<kCrowd><<<1, 64>>>(in, out);
  if (wrong == kNoWait) ring<kNoWait><<<1, 64>>>(in, out);
  if (wrong == kNoBytes) ring<kNoBytes><<<1, 64>>>(in, out);
  if (wrong == kParity) ring<kParity><<<1, 64>>>(in, out);
  return cudaDeviceSynchronize();
}}
"""


@cache
def program(folder: Path) -> Path:
    source = folder / "ring.cu"
    source.write_text(PROGRAM)
    return build_program([source], Target.virtual("90a"), include_dirs=[HEADERS]).path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ring")


def first_cause(folder: Path, wrong: int) -> Finding:
    ran = run_program(
        program(folder), [str(wrong)], timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    return by_cause(ran.report.findings)[0].finding


def test_lanes_that_all_arrive_are_counted(folder: Path):
    found = first_cause(folder, 0)
    assert found.mistake == "TooManyArrivals"
    assert "32 lanes of warp 0 arrive" in found.message
    assert "1 arrival" in found.message
    assert "let one lane arrive for its warp" in found.advice


def test_a_producer_that_is_a_round_ahead_is_told_to_wait_for_the_stage(folder: Path):
    found = first_cause(folder, 1)
    assert found.mistake == "TooManyArrivals"
    assert "it is a round ahead. Let it wait first until the stage is free" in found.advice


def test_bytes_that_nobody_announced_are_not_a_wrong_parity(folder: Path):
    found = first_cause(folder, 2)
    assert found.advice.startswith("No arrival has announced the copy's bytes")
    assert "mbarrier.arrive.expect_tx (128 bytes)" in found.advice


def test_a_wrong_parity_is_one(folder: Path):
    assert "so wait for parity 0" in first_cause(folder, 3).advice
