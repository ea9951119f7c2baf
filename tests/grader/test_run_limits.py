"""`./course run --max-seconds`: a long kernel is stopped with its progress. Statuses follow the table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY

SOURCE = """\
#include <cstdio>
#include <cstdlib>

__global__ void long_blocks(unsigned* out, int turns) {
  unsigned x = threadIdx.x;
  for (int i = 0; i < turns; ++i) x = x * 1664525u + 1013904223u;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void refused() { asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(0ull)); }

int main(int argc, char** argv) {
  unsigned* out;
  cudaMalloc(&out, 2000 * 32 * sizeof(unsigned));
  if (argc > 1) {
    long_blocks<<<atoi(argv[1]), 32>>>(out, atoi(argv[2]));
    if (cudaDeviceSynchronize() == cudaSuccess) cudaFree(out);
  } else {
    refused<<<1, 1>>>();
  }
  std::printf("%s\\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    (folder / "long.cu").write_text(SOURCE)
    return folder


@pytest.fixture
def course(folder):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "grader", "run", "--device", "virtual", "long.cu", *arguments]
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)

    return run


def words(result: subprocess.CompletedProcess[str]) -> str:
    return " ".join(result.stderr.split())


def test_a_long_kernel_is_no_hang_and_says_how_far_it_came(course):
    result = course("--max-seconds", "0.3", "2000", "500000")
    assert "LaunchTimeout" in result.stdout
    assert "hang" not in result.stderr
    assert "limit   long.cu:6" in result.stderr
    assert "limit of 0.3 s of CPU time, with" in words(result)
    assert "of 2000 blocks done" in words(result)
    assert "At this rate the launch needs about" in words(result)
    assert "--max-seconds" in words(result)
    assert result.returncode == 124


def test_a_launch_with_no_block_done_may_be_endless_or_slow(course):
    result = course("--max-seconds", "0.3", "1", "2000000000")
    assert "with 0 of 1 block done" in words(result)
    assert "If the kernel is only slow" in words(result)
    assert result.returncode == 124


def test_a_higher_limit_lets_it_end(course):
    result = course("--max-seconds", "600", "20", "20000")
    assert (result.stdout, result.returncode) == ("cudaSuccess\n", 0), result.stderr


def test_after_a_refusal_there_is_no_list_of_leaks(course):
    result = course()
    assert result.stdout == "cudaErrorNotSupported\n"
    assert "unsupported" in result.stderr
    assert "leak" not in result.stderr
    assert result.returncode == 4
