"""The drop-in cuBLAS: right results on the engine's memory, findings on its operands, refusals by name."""

from __future__ import annotations

import re
import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.program import LIBRARY_HEADERS
from common.build.toolchain import find_host_compiler, find_nvcc
from common.core.paths import REPOSITORY
from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.engine_client import EngineProcess
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together
from tests.virtual_gpu.small_programs import PREAMBLE, build_text, run

SOURCES = sorted((Path(__file__).parent / "cublas").glob("*.cu"))
BEGIN = """
#include <cublas_v2.h>
int main() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  float *a, *c, host[64] = {};
  const float one = 1, zero = 0;
  cudaMalloc(&a, sizeof host);
  cudaMalloc(&c, sizeof host);
"""
FILL = "  cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);\n"
END = """
  int error = cudaDeviceSynchronize();
  std::printf("%d %d", status, error);
  cublasDestroy(handle);
}
"""
NORM = 7  # of BlasOp
BYTES_BEFORE_NAME = 312  # of wire::Blas
NOT_PERMITTED = 800
GEMM = """\
  const cublasOperation_t n = CUBLAS_OP_N;
  int status = cublasSgemm(handle, n, n, {m}, 8, 8, &one, a, {m}, a, 8, &{beta}, c, {m});
"""


@cache
def programs() -> ProgramsTogether:
    return build_together(SOURCES, flags=(), host_optimisation="-O1")


@pytest.mark.parametrize("name", [path.stem for path in SOURCES])
def test_what_it_computes_is_what_plain_loops_give(name):
    result = programs().run(name, timeout=120)
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    assert not result.report.findings
    assert not result.report.leaks


def run_text(*parts: str) -> RunReport:
    return run(build_text("".join(parts)))


def test_an_operand_that_is_too_small_is_found_at_its_line():
    result = run_text(BEGIN, FILL, GEMM.format(m=9, beta="zero"), END)
    [finding] = result.report.findings
    assert finding.kind == "memory"
    assert "cublasSgemm reads 288 bytes from offset 0 of cudaMalloc #1, which has 256" in finding.message
    assert finding.place[0].line == PREAMBLE.count("\n") + (BEGIN + FILL).count("\n") + 2
    assert result.stdout == "0 700"


def test_an_operand_that_nothing_has_written_is_found():
    [finding] = run_text(BEGIN, GEMM.format(m=8, beta="zero"), END).report.findings
    assert finding.kind == "init"
    assert "cublasSgemm reads cudaMalloc #1, 0 bytes from its start, but nothing" in finding.message


def test_the_first_element_that_nothing_has_written_is_named():
    half = "  cudaMemset(a, 0, 100);\n"
    [finding] = run_text(BEGIN, half, GEMM.format(m=8, beta="zero"), END).report.findings
    assert "cublasSgemm reads cudaMalloc #1, 100 bytes from its start, but nothing" in finding.message


def test_a_result_is_read_only_where_beta_is_not_zero():
    assert not run_text(BEGIN, FILL, GEMM.format(m=8, beta="zero"), END).report.findings
    [finding] = run_text(BEGIN, FILL, GEMM.format(m=8, beta="one"), END).report.findings
    assert "cublasSgemm reads cudaMalloc #2" in finding.message


def test_work_of_another_stream_that_nothing_orders_comes_too_late():
    text = """
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cublasSetStream(handle, other);
  for (float& x : host) x = 1;
  float* pinned;
  cudaMallocHost(&pinned, sizeof host);
  for (int i = 0; i < 64; ++i) pinned[i] = 1;
  cudaMemset(a, 0, sizeof host);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(a, pinned, sizeof host, cudaMemcpyHostToDevice, 0);
  int status = cublasSasum(handle, 64, a, 1, host);
  std::printf("%g ", host[0]);
"""
    assert run_text(BEGIN, text, END).stdout == "0 0 0"


def test_what_it_lacks_is_refused_by_name():
    call = "  int *p = 0, status = cublasSgeqrfBatched(handle, 1, 1, &a, 1, &c, p, 1);"
    result = run_text(BEGIN, call, END)
    assert result.stdout == "15 0"
    assert (
        "cublasSgeqrfBatched is not supported here and returns CUBLAS_STATUS_NOT_SUPPORTED" in result.stderr
    )


def test_the_library_is_built_with_its_own_header_where_nvidias_is_installed(tmp_path):
    installed = tmp_path / "include"
    installed.mkdir()
    (installed / "cublas_v2.h").write_text("#error NVIDIA's header\n")
    runtime = REPOSITORY / "common" / "virtual_gpu" / "runtime"
    command = [
        str(find_host_compiler().path),
        "-std=c++20",
        "-M",
        f"-I{installed}",
        f"-I{find_nvcc().include}",
    ]
    command += [f"-I{runtime}", f"-I{runtime.parent}", str(runtime / "cublas" / "lacking.cpp")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "virtual_gpu/include/cublas_v2.h" in re.sub(r"\S+/\.\./\.\./", "virtual_gpu/", ran.stdout)


def test_the_header_declares_each_function_once():
    lacking = re.findall(r"^CUBLAS_LACKING\((\w+)\)", header("cublas_lacking.def"), re.MULTILINE)
    names = re.findall(r"^#define (cublas\w+) (cublas\w+)$", header("cublas_names.h"), re.MULTILINE)
    assert len(lacking) == len(set(lacking)) > 100
    assert all(symbol in (f"{name}_v2", name.removesuffix("_64") + "_v2_64") for name, symbol in names)


def test_a_graded_submission_computes_in_its_own_kernels():
    engine = EngineProcess()
    try:
        program = engine.ready()
        address = program.malloc(16)
        program.write(address, struct.pack("=4f", 3, 4, 0, 0))
        norm = struct.pack("=4I4q", NORM, 0, 0, 0, 4, 1, 0, 1) + struct.pack("=Q3q2I", address, 1, 0, 0, 0, 0)
        call = norm.ljust(BYTES_BEFORE_NAME, b"\0") + b"cublasSnrm2".ljust(40, b"\0")
        reply = program.ask("Blas", call)
        assert (reply.error, struct.unpack("=2d", reply.payload)) == (0, (5.0, 0.0))
        stream = engine.harness.ask("StreamCreate", struct.pack("=Ii", 1, 0)).number()
        engine.harness.ask("HarnessBeginCall", struct.pack("=Q", stream))
        assert "cublasSnrm2 is not available here" in program.ask("Blas", call).text()
        engine.harness.ask("HarnessEndCall")
        engine.harness.ask("HarnessReset")
        assert program.ask("Blas", call).error == NOT_PERMITTED
    finally:
        engine.stop()


@pytest.mark.parametrize("place", range(0, BYTES_BEFORE_NAME, 8))
def test_no_number_of_a_call_can_break_the_engine(place):
    engine = EngineProcess()
    try:
        program = engine.ready()
        address = program.malloc(64)
        program.write(address, bytes(64))
        view = struct.pack("=Q3q2I", address, 1, 4, 0, 0, 0)
        call = struct.pack("=4I4q", 0, 0, 0, 0, 4, 4, 4, 1) + view * 3
        call = call.ljust(BYTES_BEFORE_NAME, b"\0") + b"cublasSgemm".ljust(40, b"\0")
        for wrong in (-1, 1 << 40, 1 << 62, -(1 << 63), 0x7F000000000001):
            damaged = call[:place] + struct.pack("=q", wrong) + call[place + 8 :]
            program.ask("Blas", damaged)
            program.ask("DeviceSync")
            assert engine.is_alive()
    finally:
        engine.stop()


def header(name: str) -> str:
    return (LIBRARY_HEADERS / name).read_text()
