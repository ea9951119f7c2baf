"""The CUDA driver API over the same engine: modules from PTX, launches, memory, contexts, functions."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.toolchain import find_nvcc
from common.core.paths import REPOSITORY
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together
from tests.virtual_gpu.small_programs import build_text, run

SOURCES = Path(__file__).parent / "driver_api"
PER_THREAD = ("--default-stream", "per-thread")


@cache
def programs(flags: tuple[str, ...]) -> ProgramsTogether:
    return build_together(sorted(SOURCES.glob("*.cu")), flags=("-lcuda", *flags), host_optimisation="-O1")


@pytest.mark.parametrize("flags", [(), PER_THREAD], ids=["legacy", "per_thread"])
@pytest.mark.parametrize("name", sorted(path.stem for path in SOURCES.glob("*.cu")))
def test_every_question_gets_its_answer(name, flags):
    result = programs(flags).run(name, timeout=120)
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    assert not result.report.findings
    assert not result.report.leaks


def test_a_bad_copy_is_found_at_the_line_that_made_it():
    program = build_text(
        r"""
        #include <cuda.h>
        int main() {
          CUdeviceptr memory; int host[20];
          cudaFree(nullptr);
          cuMemAlloc(&memory, 64);
          cuMemsetD8(memory, 0, 64);
          cuMemcpyDtoH(host, memory, sizeof host);
          cuMemFree(memory);
          return 0;
        }
        """,
        "-lcuda",
    )
    (found,) = run(program).report.findings
    assert found.mistake == "TransferOutOfRange"
    assert found.place[0].line == 11
    assert "cuMemcpy reads 80 bytes from offset 0 of cuMemAlloc #1" in found.message


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def test_a_finding_names_the_functions_that_the_program_called():
    program = build_text(
        r"""
        #include <cuda.h>
        int main() {
          CUdeviceptr memory;
          int* other;
          cudaMalloc(&other, 64);
          cuMemAlloc(&memory, 64);
          cuMemFree(memory);
          cuMemFree(memory);
          cudaFree(other);
          cudaFree(other);
          return 0;
        }
        """,
        "-lcuda",
    )
    driver, runtime = (found.message + found.advice for found in run(program).report.findings)
    assert {"cuMemFree", "cuMemAlloc"} <= words(driver)
    assert not words(driver) & {"cudaFree", "cudaMalloc"}
    assert {"cudaFree", "cudaMalloc"} <= words(runtime)
    assert not words(runtime) & {"cuMemFree", "cuMemAlloc"}


def test_what_is_missing_names_itself_once():
    program = build_text(
        r"""
        #include <cuda.h>
        int main() {
          CUmemGenericAllocationHandle handle;
          cuInit(0);
          cuMemCreate(&handle, 1 << 21, nullptr, 0);
          return cuMemCreate(&handle, 1 << 21, nullptr, 0) == CUDA_ERROR_NOT_SUPPORTED ? 0 : 1;
        }
        """,
        "-lcuda",
    )
    result = run(program)
    assert result.status == 0
    assert result.stderr.count("cuMemCreate is not supported here and returns CUDA_ERROR_NOT_SUPPORTED") == 1
    assert any("cuMemCreate is not supported here" in message for message in result.report.messages)


def test_a_program_may_open_the_driver_by_its_name():
    program = build_text(
        r"""
        #include <dlfcn.h>
        int main() {
          int (*get_version)(int*) = nullptr, version = 0;
          void* driver = dlopen("libcuda.so.1", RTLD_NOW);
          if (driver == nullptr) return 1;
          *reinterpret_cast<void**>(&get_version) = dlsym(driver, "cuDriverGetVersion");
          cudaFree(nullptr);
          return get_version(&version) == 0 && version >= 13000 ? 0 : 2;
        }
        """,
        "-ldl",
    )
    assert run(program).status == 0


def test_a_host_compiler_that_links_the_driver_gets_ours(tmp_path):
    (tmp_path / "main.cpp").write_text(
        "#include <cuda.h>\n#include <cstdio>\nint main() {\n"
        "  int count = 0;\n  cuInit(0);\n  cuDeviceGetCount(&count);\n"
        '  std::printf("%d\\n", count);\n}\n'
    )
    command = [
        str(REPOSITORY / "bin" / "c++"),
        f"-I{find_nvcc().include}",
        "main.cpp",
        "-o",
        "main",
        "-lcuda",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "1\n"
