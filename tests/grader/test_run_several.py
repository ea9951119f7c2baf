"""`./course run` with several files: sources of each kind, libraries, flags of nvcc's, device code linked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.build.toolchain import find_host_compiler
from common.core.paths import REPOSITORY

FILES = {
    "main.cu": """\
#include <cstdio>
#include "shared.h"

extern __device__ float scale;
extern __constant__ float table[4];
__device__ float helper(float x);
static __device__ int count = 3;  // beside another file's

__global__ void add(float* data, int size) {
  __shared__ float tile[32];
  tile[threadIdx.x] = helper(data[threadIdx.x]) * scale;
  __syncthreads();
  data[threadIdx.x] = tile[31 - threadIdx.x] + table[threadIdx.x % 4] + count + biggest(0, 0);
}

int main(int argc, char** argv) {
  float host[32], *data;
  for (int i = 0; i < 32; ++i) host[i] = i;
  cudaMalloc(&data, sizeof host - (argc > 1 ? 4 : 0));
  cudaMemcpy(data, host, sizeof host - (argc > 1 ? 4 : 0), cudaMemcpyHostToDevice);
  fill_table();
  add<<<1, 32>>>(data, 32);
  cudaMemcpy(host, data, sizeof host - (argc > 1 ? 4 : 0), cudaMemcpyDeviceToHost);
  cudaFree(data);
  std::printf("%g %g %d %d\\n", host[0], host[5], from_host(), plain());
}
""",
    "helper.cu": """\
#include "shared.h"

__device__ float scale = 2;
__constant__ float table[4];
static __device__ int count = 5;

__device__ float helper(float x) {
  return x + count + biggest(-1, 0);
}

void fill_table() {
  const float values[4] = {10, 20, 30, 40};
  cudaMemcpyToSymbol(table, values, sizeof values);
}
""",
    "include/shared.h": """\
#pragma once
void fill_table();
int from_host();
extern "C" int plain();
#ifdef __CUDACC__
constexpr int largest(int a, int b) { return a > b ? a : b; }
template <typename T> __device__ __noinline__ T biggest(T a, T b) { return largest(a, b); }
#endif
""",
    "host.cpp": '#include "shared.h"\nint from_host() { return OFFSET; }\n',
    "plain.c": "int plain(void) { int class = 4; return class; }\n",
}
SOURCES = ("main.cu", "helper.cu", "host.cpp", "plain.c")
FLAGS = ("-I", "include", "-DOFFSET=7", "--nvcc", "-rdc=true --expt-relaxed-constexpr")
# helper() adds 5 and is doubled: (31 + 5) * 2 + 10 + 3, and (26 + 5) * 2 + 20 + 3.
ANSWER = "85 85 7 4\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def course(folder):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "grader", "run", "--device", "virtual", *arguments]
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)

    return run


def test_device_code_of_several_files_is_linked(course, folder):
    result = course(*SOURCES, *FLAGS, "--json", "out.json")
    assert (result.stdout, result.returncode) == (ANSWER, 0), result.stderr
    record = json.loads((folder / "out.json").read_text())
    assert (record["status"], record["exit_status"], record["findings"]) == (0, 0, [])


def test_a_finding_names_the_file_that_it_is_in(course):
    result = course(*SOURCES, *FLAGS, "--", "short")
    assert result.returncode == 3
    assert "memory  main.cu:11" in result.stderr


def test_without_the_file_that_defines_a_function_the_kernel_is_refused_by_its_name(course, folder):
    (folder / "no_helper.cu").write_text("void fill_table() {}\n")
    result = course("main.cu", "no_helper.cu", "host.cpp", "plain.c", *FLAGS)
    assert "which no file of the program defines for the device" in result.stderr
    assert "-rdc=true" in result.stderr
    assert "does not implement" not in result.stderr
    assert result.returncode == 4


def test_two_definitions_are_an_error_that_names_them(course, folder):
    (folder / "twice.cu").write_text("__device__ float helper(float x) { return x; }\n")
    result = course(*SOURCES, "twice.cu", *FLAGS)
    assert "multiple definition of `helper(float)'" in result.stderr
    assert result.returncode == 125


def test_a_library_of_ones_own_is_linked(course, folder):
    compiler = str(find_host_compiler().path)
    subprocess.run([compiler, "-x", "c", "-c", "plain.c", "-o", "plain.o"], cwd=folder, check=True)
    subprocess.run(["ar", "crs", "libplain.a", "plain.o"], cwd=folder, check=True)
    result = course("main.cu", "helper.cu", "host.cpp", *FLAGS, "-L", ".", "-lplain")
    assert (result.stdout, result.returncode) == (ANSWER, 0), result.stderr


def test_json_is_written_for_a_program_that_cannot_be_built(course, folder):
    result = course("main.cu", "host.cpp", "--json", "failed.json")
    assert result.returncode == 125
    record = json.loads((folder / "failed.json").read_text())
    assert record["exit_status"] == 125
    assert "OFFSET" in record["error"] or "shared.h" in record["error"]
