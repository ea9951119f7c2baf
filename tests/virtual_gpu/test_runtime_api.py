"""The CUDA runtime API as programs meet it: right answers, clear errors, nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.build import Target, build_engine, build_program
from common.toolchain import find_nvcc
from common.virtual_gpu import wire
from common.virtual_gpu.report import Counters
from common.virtual_gpu.runtime import gen_stubs
from common.virtual_gpu.session import RunReport, run_program

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).parent / "api"
RUNTIME = ROOT / "common" / "virtual_gpu" / "runtime"
LAMBDAS = ("--extended-lambda",)
PER_THREAD = ("--default-stream", "per-thread")
# Programs that ask for what the device refuses on purpose, and therefore leave findings.
WITH_FINDINGS = {"sticky_error"}
WITH_LEAKS = {"sticky_error"}


def build(name: str, *flags: str, target: Target | None = None) -> Path:
    source = SOURCES / f"{name}.cu"
    return build_program([source], target or Target.virtual(), extra_flags=(*LAMBDAS, *flags)).path


def build_text(folder: Path, text: str, *flags: str) -> Path:
    source = folder / "program.cu"
    source.write_text("#include <cuda_runtime.h>\n#include <cstdio>\n#include <unistd.h>\n" + text)
    return build_program([source], Target.virtual(), extra_flags=flags).path


def run(program: Path) -> RunReport:
    return run_program(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def engines() -> set[int]:
    """Living engine processes."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "exe").readlink().name.startswith("vgpu-engine"):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def children_of(pid: int) -> set[int]:
    try:
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()


def wait_until(holds, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())


@pytest.mark.parametrize("flags", [(), PER_THREAD], ids=["legacy", "per_thread"])
@pytest.mark.parametrize("name", sorted(path.stem for path in SOURCES.glob("*.cu")))
def test_every_question_gets_the_answer_that_hardware_gave(name, flags):
    result = run(build(name, *flags))
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    if name not in WITH_FINDINGS:
        assert not result.report.findings
    if name not in WITH_LEAKS:
        assert not result.report.leaks


def test_what_is_missing_names_itself_once():
    result = run(build("not_supported"))
    assert result.stderr.count("cudaMallocArray is not supported here") == 1
    assert result.stderr.count("cudaHostRegister is not supported here") == 1


def test_the_library_has_every_function_of_the_header_and_nothing_but_the_api():
    command = ["nm", "-D", "--defined-only", str(build_engine().runtime)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in listing.splitlines()]
    exported = {name.partition("@")[0] for _, kind, name in symbols if kind in "TDB"}
    header = find_nvcc().include / "cuda_runtime_api.h"
    assert gen_stubs.declared(header.read_text()) <= exported
    assert not {name for name in exported if not name.startswith(("cuda", "__cuda"))}


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


def test_reports_have_a_field_for_every_counter_of_the_engine():
    header = (ROOT / "common" / "virtual_gpu" / "engine" / "exec" / "launch.h").read_text()
    struct = header[header.index("struct Counters {") :].partition("};")[0]
    members = re.findall(r"(\w+) = 0", re.sub(r"//[^\n]*", "", struct))
    assert set(members) <= set(Counters.__dataclass_fields__)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["-compress-mode=size"], "PTX is compressed: rebuild it with -no-compress"),
        (["-gencode", "arch=compute_90,code=sm_90"], "carries no PTX"),
        (["-no-compress", "-gencode", "arch=compute_100,code=compute_100"], "compute_100 and above"),
    ],
    ids=["compressed", "machine_code_only", "too_new"],
)
def test_a_program_without_usable_ptx_is_told_how_to_rebuild(tmp_path, flags, sentence):
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


def test_a_host_dereference_of_a_device_pointer_is_found_at_its_line(tmp_path):
    program = build_text(
        tmp_path,
        """
        int read(const int* pointer) { return *pointer; }
        int main() {
          int* device = nullptr;
          cudaMalloc(&device, 64);
          return read(device + 3);
        }
        """,
        "-Xcompiler",
        "-fno-inline",
    )
    result = run(program)
    assert result.status == -signal.SIGSEGV
    assert result.ending == "SIGSEGV"
    assert "host code dereferenced device pointer" in result.stderr
    (finding,) = result.report.findings
    assert finding.kind == "host"
    assert Path(finding.file).name == "program.cu"
    assert finding.line == 5
    assert finding.allocation.startswith("cudaMalloc #1")


def test_a_library_function_given_a_device_pointer_is_blamed_on_its_caller(tmp_path):
    program = build_text(
        tmp_path,
        """
        #include <cstring>
        int main(int count, char**) {
          char* device = nullptr;
          char host[4096];
          cudaMalloc(&device, 4096);
          std::memcpy(host, device, 4095 + count);
          return host[7];
        }
        """,
    )
    result = run(program)
    (finding,) = result.report.findings
    assert (finding.kind, Path(finding.file).name, finding.line) == ("host", "program.cu", 10)


def test_other_faults_stay_the_programs_own(tmp_path):
    program = build_text(
        tmp_path,
        """
        #include <csignal>
        void mine(int) { write(1, "mine\\n", 5); _exit(7); }
        int main() {
          std::signal(SIGSEGV, mine);
          cudaFree(nullptr);
          cudaDeviceSynchronize();
          *reinterpret_cast<volatile int*>(8) = 1;
        }
        """,
    )
    result = run(program)
    assert (result.status, result.stdout, result.report.findings) == (7, "mine\n", ())


def test_a_program_alone_starts_its_own_engine_and_leaves_none(tmp_path):
    before = engines()
    report = tmp_path / "report.json"
    paths = build_engine()
    environment = {
        **os.environ,
        "VGPU_ENGINE": str(paths.engine),
        "VGPU_REPORT": str(report),
        "VGPU_PROFILES": str(ROOT / "common" / "virtual_gpu" / "profiles.json"),
        "VGPU_PROFILE": "h100",
        "VGPU_OPTIONS": "race=off max_seconds=20",
    }
    done = subprocess.run(
        [str(build("last_error"))], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert '"profile":"h100"' in report.read_text().replace(" ", "")
    assert engines() <= before


def test_without_an_engine_calls_fail_with_a_sentence():
    environment = {**os.environ, "VGPU_ENGINE": "/nowhere/vgpu-engine"}
    done = subprocess.run(
        [str(build("last_error"))], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("the engine is not at /nowhere/vgpu-engine") == 1


def test_what_a_program_starts_inherits_neither_the_socket_nor_its_name(tmp_path):
    program = build_text(
        tmp_path,
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


def test_when_the_engine_is_killed_the_program_ends_with_an_error(tmp_path):
    program = build_text(
        tmp_path,
        """
        __global__ void nothing() {}
        int main() {
          cudaFree(nullptr);
          std::puts("started");
          std::fflush(stdout);
          for (int i = 0; i < 10000; ++i) {
            nothing<<<1, 1>>>();
            const cudaError_t error = cudaDeviceSynchronize();
            if (error != cudaSuccess) return error == cudaErrorDevicesUnavailable ? 5 : 6;
            usleep(1000);
          }
          return 0;
        }
        """,
    )
    before = engines()
    script = (
        "import subprocess, sys\n"
        "from common.virtual_gpu.session import run_program\n"
        "from common.virtual_gpu.wire import EngineDied\n"
        "try:\n"
        "    run_program(sys.argv[1], timeout=60)\n"
        "except EngineDied as problem:\n"
        "    print(problem)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(program)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "started\n"
        (engine,) = [pid for pid in engines() - before if pid in children_of(parent.pid)]
        os.kill(engine, signal.SIGKILL)
        output, errors = parent.communicate(timeout=60)
    assert "SIGKILL" in output
    assert errors.count("the engine is gone") == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_when_the_parent_goes_program_and_engine_go_too(tmp_path, how):
    program = build_text(
        tmp_path,
        """
        int main() {
          cudaFree(nullptr);
          std::printf("%d\\n", getpid());
          std::fflush(stdout);
          for (;;) pause();
        }
        """,
    )
    before = engines()
    script = "import sys; from common.virtual_gpu.session import run_program; run_program(sys.argv[1])"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(program)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(how)
        parent.wait(30)
    assert wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())
    assert wait_until(lambda: engines() <= before)


def test_a_program_out_of_time_is_killed_with_all_it_started(tmp_path):
    program = build_text(
        tmp_path,
        """
        int main() {
          cudaFree(nullptr);
          const pid_t child = fork();
          if (child != 0) { std::printf("%d\\n", child); std::fflush(stdout); }
          for (;;) pause();
        }
        """,
    )
    result = run_program(program, timeout=2, stdout=subprocess.PIPE)
    assert result.timed_out
    assert result.ending == "timed out"
    assert wait_until(lambda: not Path(f"/proc/{int(result.stdout)}/exe").exists())


def test_launches_findings_and_counters_come_back_as_data(tmp_path):
    program = build_text(
        tmp_path,
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
