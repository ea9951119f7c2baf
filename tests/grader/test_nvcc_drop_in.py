"""`./course nvcc` in the place of nvcc: a project's own Makefile and CMake build programs that run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY

FILES = {
    "main.cu": """\
#include <cstdio>
#include <cstring>
#include "scale.h"

__device__ float twice(float x);
extern __device__ int calls;

__global__ void scale(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = twice(data[i]);
  if (i == 0) calls = 1;
}

int main(int argc, char** argv) {
  const int n = 100;
  float host[n], *data;
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMalloc(&data, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  scale<<<1, 128>>>(data, argc > 1 ? 128 : n);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(data);
  std::printf("%g %d %d\\n", host[50], count_calls(), from_host());
}
""",
    "twice.cu": """\
#include "scale.h"
__device__ int calls;
__device__ float twice(float x) { return 2 * x; }
int count_calls() {
  int value = 0;
  cudaMemcpyFromSymbol(&value, calls, sizeof value);
  return value;
}
""",
    "host.cpp": '#include "scale.h"\nint from_host() { return 7; }\n',
    "include/scale.h": "#pragma once\nint count_calls();\nint from_host();\n",
    "Makefile": """\
NVCC = nvcc
NVCCFLAGS = -O3 -std=c++17 -arch=sm_80 -gencode arch=compute_80,code=sm_80 -Xcompiler -Wall -rdc=true
NVCCFLAGS += -Iinclude

program: main.o libparts.a
	$(NVCC) $(NVCCFLAGS) $^ -o $@ -lcudart -lm
separate: main.o twice.o host.o linked.o
	$(NVCC) $^ -o $@
linked.o: main.o twice.o
	$(NVCC) -arch=sm_80 -dlink $^ -o $@
libparts.a: twice.o host.o
	ar crs $@ $^
main.o: main.cu
	$(NVCC) $(NVCCFLAGS) -MD -MF main.d -dc $< -o $@
%.o: %.cu
	$(NVCC) $(NVCCFLAGS) -c $< -o $@
%.o: %.cpp
	$(NVCC) -Iinclude -c $< -o $@
""",
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.18)
project(scale LANGUAGES CXX CUDA)
add_library(parts STATIC twice.cu host.cpp)
target_include_directories(parts PUBLIC include)
set_target_properties(parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
add_executable(program main.cu)
target_link_libraries(program PRIVATE parts)
set_target_properties(program PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_ARCHITECTURES 80)
""",
}
ANSWER = "100 1 7\n"
NVCC, COURSE = REPOSITORY / "bin" / "nvcc", REPOSITORY / "course"
ENVIRONMENT = {**os.environ, "COURSE_PYTHON": sys.executable}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(*command: object, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    env = {**ENVIRONMENT, **more}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(folder: Path) -> Path:
    """What the Makefile makes with ours in nvcc's place."""
    done = run("make", f"NVCC={COURSE} nvcc", "program", "separate", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None, reason="there is no cmake (pip install cmake)"
)


@needs_make
@pytest.mark.parametrize("program", ["program", "separate"])
def test_what_a_makefile_builds_runs_on_the_virtual_gpu(made, program):
    done = run(made / program, folder=made)
    assert (done.stdout, done.stderr, done.returncode) == (ANSWER, "", 0)
    assert "scale.h" in (made / "main.d").read_text()


@needs_make
def test_it_prints_its_findings_and_obeys_the_variables(made):
    done = run(made / "program", "past the end", folder=made, VGPU_REPORT="report.json")
    assert "virtual GPU: 1 finding" in done.stderr
    assert f"main.cu:{10}" in done.stderr
    assert len(json.loads((made / "report.json").read_text())["findings"]) == 1
    quiet = run(made / "program", "past the end", folder=made, VGPU_OPTIONS="memory=off init=off")
    assert quiet.stderr == ""


@needs_make
def test_run_shows_a_program_that_was_built_before_like_a_source(made):
    done = run(COURSE, "run", "--device", "virtual", "program", "past the end", folder=made)
    assert "memory  main.cu:10" in done.stderr
    assert done.returncode == 3


@needs_cmake
def test_what_cmake_builds_runs_on_the_virtual_gpu(folder):
    compilers = [f"-DCMAKE_CUDA_COMPILER={NVCC}", f"-DCMAKE_CXX_COMPILER={NVCC.parent / 'c++'}"]
    options = ["-DCMAKE_CUDA_ARCHITECTURES=80", *compilers]
    configured = run("cmake", "-S", ".", "-B", "build", *options, folder=folder)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    built = run("cmake", "--build", "build", folder=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    done = run(folder / "build" / "program", folder=folder)
    assert (done.stdout, done.stderr, done.returncode) == (ANSWER, "", 0)


def test_a_library_of_nvidias_that_is_called_is_named(folder):
    (folder / "sparse.cu").write_text(
        'extern "C" int cusparseCreate(void*);\nint main() { cusparseCreate(0); }\n'
    )
    done = run(COURSE, "nvcc", "sparse.cu", "-o", "sparse", "-lcusparse", folder=folder)
    assert done.returncode != 0
    assert "cusparseCreate is a function of cuSPARSE, which the virtual GPU does not have" in done.stderr


def test_a_program_that_calls_cublas_is_linked_with_the_virtual_gpus(folder):
    (folder / "blas.cu").write_text(
        "#include <cublas_v2.h>\n#include <cstdio>\n"
        "int main() {\n  cublasHandle_t handle;\n"
        "  std::puts(cublasGetStatusName(cublasCreate(&handle)));\n  cublasDestroy(handle);\n}\n"
    )
    assert run(COURSE, "nvcc", "blas.cu", "-o", "blas", "-lcublas", folder=folder).returncode == 0
    assert run(folder / "blas", folder=folder).stdout == "CUBLAS_STATUS_SUCCESS\n"


def test_nvcc_answers_questions_about_itself_also_when_it_comes_first_on_path(folder):
    path = f"{NVCC.parent}:{os.environ['PATH']}"
    assert "release 13" in run("nvcc", "--version", folder=folder, PATH=path).stdout


def test_a_fat_binary_is_made_for_the_driver_api_of_the_virtual_gpu(folder):
    (folder / "fill.cu").write_text('extern "C" __global__ void fill(int* out) { *out = 7; }\n')
    (folder / "driver.cpp").write_text(
        """\
#include <cuda.h>
#include <cstdio>
int main() {
  CUcontext context;
  CUmodule module;
  CUfunction fill;
  CUdeviceptr out;
  int value = 0;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  if (cuModuleLoad(&module, "fill.fatbin") != CUDA_SUCCESS) return 1;
  cuModuleGetFunction(&fill, module, "fill");
  cuMemAlloc(&out, sizeof value);
  void* arguments[] = {&out};
  cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  cuMemcpyDtoH(&value, out, sizeof value);
  cuMemFree(out);
  std::printf("%d\\n", value);
}
"""
    )
    for words in (
        ["-fatbin", "-arch=sm_80", "fill.cu", "-o", "fill.fatbin"],
        ["driver.cpp", "-o", "driver", "-lcuda"],
    ):
        made = run(COURSE, "nvcc", *words, folder=folder)
        assert made.returncode == 0, made.stdout + made.stderr
    done = run(folder / "driver", folder=folder)
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)
