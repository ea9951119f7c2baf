"""Program, engine and harness as processes: found when needed, gone when one of them goes, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.virtual_gpu.session import run_program
from tests.virtual_gpu.small_programs import (
    LONG_KERNEL,
    build_text,
    children_of,
    engines,
    is_running,
    source_of,
)
from tests.waiting import LONG, wait_until

ROOT = Path(__file__).resolve().parents[2]
SYNCHRONISE = """
int main() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) std::puts("ok");
  return error == cudaSuccess ? 0 : 1;
}
"""
OUT_OF_BOUNDS = """
__global__ void shift(int* x) { x[threadIdx.x] = x[threadIdx.x + 1]; }
int main() {
  int* x = nullptr;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  shift<<<1, 32>>>(x);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""
# Says its process id, then waits for a kernel that computes for many seconds.
TOIL = (
    LONG_KERNEL
    + """
int main() {
  unsigned* out = nullptr;
  cudaMalloc(&out, 128);
  std::printf("%d\\n", getpid());
  std::fflush(stdout);
  toil<<<4, 32>>>(out);
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaErrorDevicesUnavailable ? 5 : 6;
}
"""
)
RUN = "import sys; from common.virtual_gpu.session import run_program; run_program(sys.argv[1])"


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))


def start_alone(program: Path, **settings: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VGPU_")}
    return subprocess.Popen(
        [str(program)],
        env={**environment, **settings},
        cwd=program.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_alone(program: Path, **settings: str) -> tuple[int, str, str]:
    """Status, output and what was said on stderr."""
    with start_alone(program, **settings) as process:
        output, said = process.communicate(timeout=120)
        return process.returncode, output, said


def start_under_a_harness(program: Path, script: str = RUN) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(program)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_program_alone_finds_its_engine_and_prints_what_was_found():
    program = build_text(OUT_OF_BOUNDS)
    shared_before, engines_before = shared_memory(), engines()
    files_before = set(program.parent.iterdir())
    status, _, said = run_alone(program)
    assert status in (0, 1)
    assert "past the end of cudaMalloc #1" in said
    assert f"at {source_of(OUT_OF_BOUNDS)}:5\n" in said
    assert f"cudaMalloc #1 was allocated at {source_of(OUT_OF_BOUNDS)}:8 in main." in said
    assert engines() <= engines_before
    assert shared_memory() <= shared_before
    assert set(program.parent.iterdir()) == files_before


def test_the_environment_sets_up_the_engine_of_a_program_alone(tmp_path):
    report = tmp_path / "report.json"
    status, output, said = run_alone(
        build_text(SYNCHRONISE),
        VGPU_REPORT=str(report),
        VGPU_PROFILES=str(ROOT / "common" / "virtual_gpu" / "profiles.json"),
        VGPU_PROFILE="h100",
        VGPU_OPTIONS="race=off max_seconds=20",
    )
    assert (status, output) == (0, "ok\n"), said
    data = json.loads(report.read_text())
    assert (data["profile"], data["options"]["race"]) == ("h100", False)


def test_without_an_engine_calls_fail_with_a_sentence():
    status, _, said = run_alone(build_text(SYNCHRONISE), VGPU_ENGINE="/nowhere/vgpu-engine")
    assert status == 1
    assert said.count("the engine is not at /nowhere/vgpu-engine") == 1


def test_a_program_killed_in_the_middle_of_a_kernel_takes_its_engine_along():
    shared_before = shared_memory()
    with start_alone(build_text(TOIL)) as program:
        first_line(program)
        (engine,) = children_of(program.pid)
        time.sleep(0.3)
        assert is_running(engine)
        program.kill()
        assert wait_until(lambda: not is_running(engine))
    assert shared_memory() <= shared_before


def test_when_the_engine_is_killed_in_the_middle_of_a_kernel_the_wait_ends_with_an_error():
    with start_alone(build_text(TOIL)) as program:
        first_line(program)
        (engine,) = children_of(program.pid)
        time.sleep(0.3)
        os.kill(engine, signal.SIGKILL)
        _, said = program.communicate(timeout=LONG)
    assert program.returncode == 5
    assert said.count("the engine is gone") == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_harness_that_goes_in_the_middle_of_a_kernel_takes_program_and_engine_along(how):
    shared_before, engines_before = shared_memory(), engines()
    with start_under_a_harness(build_text(TOIL)) as harness:
        program = int(first_line(harness))
        (engine,) = (engines() - engines_before) & children_of(harness.pid)
        time.sleep(0.3)
        harness.send_signal(how)
        assert wait_until(lambda: not is_running(program) and not is_running(engine))
    assert shared_memory() <= shared_before


def test_when_the_engine_is_killed_the_program_ends_with_an_error():
    program = build_text(
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
    with start_under_a_harness(program, script) as parent:
        assert first_line(parent) == "started\n"
        (engine,) = (engines() - before) & children_of(parent.pid)
        os.kill(engine, signal.SIGKILL)
        output, errors = parent.communicate(timeout=LONG)
    assert "SIGKILL" in output
    assert errors.count("the engine is gone") == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_when_the_parent_goes_program_and_engine_go_too(how):
    program = build_text(
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
    with start_under_a_harness(program) as parent:
        pid = int(first_line(parent))
        parent.send_signal(how)
        parent.wait(LONG)
    assert wait_until(lambda: not is_running(pid))
    assert wait_until(lambda: engines() <= before)


def test_a_program_out_of_time_is_killed_with_all_it_started():
    program = build_text(
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
    assert wait_until(lambda: not is_running(int(result.stdout)))
