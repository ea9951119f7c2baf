"""The CUDA runtime API as programs meet it: right answers, clear errors, nothing left behind."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.engine.build import build_engine
from common.build.toolchain import find_nvcc
from common.virtual_gpu import wire
from common.virtual_gpu.runtime import gen_stubs
from common.virtual_gpu.session import RunReport, run_program
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together
from tests.virtual_gpu.small_programs import build_text, run

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).parent / "api"
RUNTIME = ROOT / "common" / "virtual_gpu" / "runtime"
LAMBDAS = ("--extended-lambda",)
LIMIT_SECONDS = 120.0
PER_THREAD = ("--default-stream", "per-thread")
# Programs that ask for what the device refuses on purpose, and therefore leave findings.
WITH_FINDINGS = {"sticky_error"}
WITH_LEAKS = {"sticky_error"}


@cache
def programs(flags: tuple[str, ...]) -> ProgramsTogether:
    sources = sorted(SOURCES.glob("*.cu"))
    return build_together(sources, flags=(*LAMBDAS, *flags), host_optimisation="-O1")


@cache
def run_of(name: str, flags: tuple[str, ...]) -> RunReport:
    return programs(flags).run(name, timeout=LIMIT_SECONDS)


@pytest.mark.parametrize("flags", [(), PER_THREAD], ids=["legacy", "per_thread"])
@pytest.mark.parametrize("name", sorted(path.stem for path in SOURCES.glob("*.cu")))
def test_every_question_gets_the_answer_that_hardware_gave(name, flags):
    result = run_of(name, flags)
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    if name not in WITH_FINDINGS:
        assert not result.report.findings
    if name not in WITH_LEAKS:
        assert not result.report.leaks


def test_what_is_missing_names_itself_once():
    result = run_of("not_supported", ())
    assert result.stderr.count("cudaMallocMipmappedArray is not supported here") == 1
    assert result.stderr.count("cudaIpcGetMemHandle is not supported here") == 1


def test_the_library_has_every_function_of_the_header_and_nothing_but_the_api():
    command = ["nm", "-D", "--defined-only", str(build_engine().runtime)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in listing.splitlines()]
    exported = {name.partition("@")[0] for _, kind, name in symbols if kind in "TDB"}
    header = find_nvcc().include / "cuda_runtime_api.h"
    assert gen_stubs.declared(header.read_text()) <= exported
    driver = gen_stubs.driver_declared((find_nvcc().include / "cuda.h").read_text())
    assert {"cuLaunchKernel", "cuLaunchKernel_ptsz", "cuMemAlloc_v2", "cuMemcpyHtoD_v2_ptds"} <= driver
    assert driver <= exported
    ours = ("cuda", "__cuda", "cublas")
    others = {name for name in exported if not name.startswith(ours) and name not in driver}
    assert others == {"__vgpuRegisterLinkedBinary", "cuProfilerStart", "cuProfilerStop"}


def test_a_stub_is_made_for_each_declaration_without_a_definition():
    header = """
    #define cudaB __CUDART_API_PTSZ(cudaB)
    extern __host__ cudaError_t CUDARTAPI cudaA(int *a);
    /* extern __host__ cudaError_t CUDARTAPI cudaComment(int a); */
    extern __host__ __cudart_builtin__ cudaError_t CUDARTAPI cudaB(
        cudaStream_t s);
    extern __host__ const char* CUDARTAPI cudaText(cudaError_t error);
    extern __host__ cudaError_t CUDARTAPI cudaC(void);
    """
    source = "VGPU_ENTRY(cudaA, (int* a), (a)) {}\nVGPU_API cudaError_t cudaC() {}\n"
    assert gen_stubs.declared(header) == {"cudaA", "cudaB", "cudaB_ptsz", "cudaC"}
    assert gen_stubs.declared(header) - gen_stubs.written(source) == {"cudaB", "cudaB_ptsz"}
    assert gen_stubs.written("VGPU_TWINS(cudaB, _ptsz,\n (int), (0)) {}") == {"cudaB", "cudaB_ptsz"}


def test_both_ends_of_the_protocol_agree():
    text = (ROOT / "common" / "virtual_gpu" / "protocol.h").read_text()
    for name in wire.Request:
        words = "".join(word.capitalize() for word in name.name.split("_"))
        body = text[text.index("enum class Request") :].partition("};")[0]
        number = 0
        for entry, value in re.findall(r"^\s*k(\w+)(?:\s*=\s*(\d+))?,", body, re.MULTILINE):
            number = int(value) if value else number + 1
            if entry == words:
                assert number == name
                break
        else:
            pytest.fail(f"protocol.h has no k{words}")
    assert int(re.search(r"kMagic = (0x[0-9a-f]+)", text)[1], 16) == wire.MAGIC  # type: ignore[index]
    assert int(re.search(r"kVersion = (\d+)", text)[1]) == wire.VERSION  # type: ignore[index]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["-compress-mode=size"], "PTX is compressed: rebuild it with -no-compress"),
        (["-gencode", "arch=compute_90,code=sm_90"], "carries no PTX"),
        (["-no-compress", "-gencode", "arch=compute_100,code=compute_100"], "compute_100 and above"),
    ],
    ids=["compressed", "machine_code_only", "too_new"],
)
def test_a_program_without_usable_ptx_gets_the_way_to_rebuild(tmp_path, flags, sentence):
    source = tmp_path / "program.cu"
    source.write_text(
        "__global__ void nothing() {}\n"
        "int main() { nothing<<<1, 1>>>(); nothing<<<1, 1>>>(); return cudaGetLastError(); }\n"
    )
    runtime = build_engine().runtime
    program = tmp_path / "program"
    command = [str(find_nvcc().path), "-cudart", "none", *flags, str(source), "-o", str(program)]
    command += ["-Xlinker", f"{runtime},-rpath={runtime.parent}"]
    if not any("gencode" in flag for flag in flags):
        command += ["-gencode", "arch=compute_90,code=compute_90"]
    subprocess.run(command, check=True, timeout=300)
    result = run(program)
    assert result.status == 209  # cudaErrorNoKernelImageForDevice
    assert result.stderr.count(sentence) == 1


def test_what_a_program_starts_inherits_neither_the_socket_nor_its_name():
    program = build_text(
        """
        #include <cstdlib>
        int main() {
          std::fflush(stdout);
          return std::system("env | grep VGPU_FD; ls -l /proc/self/fd | grep -c socket");
        }
        """,
    )
    result = run(program)
    assert result.stdout == "0\n"


def test_launches_findings_and_counters_come_back_as_data():
    program = build_text(
        """
        __global__ void copy(const float* in, float* out, int n) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i <= n) out[i] = in[i];
        }
        int main() {
          float *in = nullptr, *out = nullptr;
          cudaMalloc(&in, 100 * sizeof(float));
          cudaMalloc(&out, 100 * sizeof(float));
          cudaMemset(in, 0, 100 * sizeof(float));
          copy<<<1, 128>>>(in, out, 100);
          cudaDeviceSynchronize();
          cudaFree(in);
          return 0;
        }
        """,
    )
    result = run(program)
    report = result.report
    (launch,) = report.launches
    assert launch.kernel.startswith("copy(")
    assert (launch.grid, launch.block) == ((1, 1, 1), (128, 1, 1))
    assert launch.counters.global_load_requests == 4
    assert launch.counters.warp_instructions > 0
    assert any(line.line == 7 and line.counters.global_load_requests == 4 for line in launch.lines)
    assert {finding.kind for finding in report.findings} == {"memory"}
    assert all((Path(finding.file).name, finding.line) == ("program.cu", 7) for finding in report.findings)
    assert [leak.bytes for leak in report.leaks] == [400] * (2 if report.sticky_error else 1)
    data = report.to_dict()
    assert data["findings"][0]["line"] == 7
    assert type(report).from_dict(data) == report


def test_a_program_that_cannot_be_run_is_a_sentence(tmp_path):
    missing = tmp_path / "nothing-here"
    with pytest.raises(Exception, match="nothing-here cannot be run"):
        run_program(missing)


def test_short_names_are_not_taken_for_types():
    """To a demangler the name c alone says char, and f says float."""
    program = """
__constant__ float c[4];
extern "C" __global__ void f(float* out, int i) { out[0] = c[i]; }
int main() {
  float* out;
  cudaMalloc(&out, 4);
  f<<<1, 1>>>(out, 4);
  return cudaDeviceSynchronize() | cudaFree(out);
}
"""
    (finding,) = run(build_text(program)).report.findings
    assert finding.message.endswith("past the end of c (16 bytes)")
    assert finding.kernel == "f"


def test_a_lambda_can_be_a_kernels_argument():
    program = """
template <class F>
__global__ void each(F f) { f(threadIdx.x); }
int main() {
  int *out, scale = 3, host[4];
  cudaMalloc(&out, sizeof host);
  each<<<1, 4>>>([=] __device__(int i) { out[i] = scale * i; });
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(out);
  return host[3];
}
"""
    assert run(build_text(program)).status == 9


def test_128_bits_are_divided_as_on_the_host():
    """The code nvcc inlines for it mixes additions into chains of subtractions."""
    program = """
using Wide = unsigned __int128;
__host__ __device__ Wide numerator(int i) {
  return ((Wide)(0x9e3779b97f4a7c15ull * (i + 1)) << 64) | 0xbf58476d1ce4e5b9ull * (i + 7);
}
__host__ __device__ Wide divisor(int i) { return numerator(i * 31 + 5) >> (i % 120); }
__global__ void divide(Wide* out) {
  const int i = threadIdx.x;
  out[2 * i] = numerator(i) / divisor(i);
  out[2 * i + 1] = numerator(i) % divisor(i);
}
int main() {
  Wide *out, host[512];
  cudaMalloc(&out, sizeof host);
  divide<<<1, 256>>>(out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(out);
  for (int i = 0; i < 256; ++i)
    if (host[2 * i] != numerator(i) / divisor(i) || host[2 * i + 1] != numerator(i) % divisor(i)) return 1;
  return 0;
}
"""
    ran = run(build_text(program))
    assert (ran.status, ran.report.findings) == (0, ())
