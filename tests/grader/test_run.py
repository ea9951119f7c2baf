"""`./course run` on the virtual GPU: the program's output and status, findings at their line, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY

SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void add(int* data, int amount) {
  data[threadIdx.x] += amount;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!std::strcmp(what, "abort")) std::abort();
  int* data;
  cudaMalloc(&data, 32 * sizeof(int));
  cudaMemset(data, 0, 32 * sizeof(int));
  add<<<1, std::strcmp(what, "overrun") ? 32 : 33>>>(data, AMOUNT);
  int host[32];
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(data);
  std::printf("%d %d\\n", host[5], argc);
  return std::strcmp(what, "fail") ? 0 : 9;
}
"""
OVERRUN_LINE = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, so that the program is compiled once."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "mine.cu").write_text(SOURCE)
    return folder


@pytest.fixture
def course(folder):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-P",
            "-m",
            "grader",
            "run",
            "--device",
            "virtual",
            "-DAMOUNT=3",
            *arguments,
        ]
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)

    return run


def test_a_correct_program_prints_and_ends_as_on_a_gpu(course):
    result = course("mine.cu", "a", "b")
    assert result.stdout == "3 3\n"
    assert result.stderr.splitlines()[0] == "device: virtual GPU (h200)"
    assert result.returncode == 0


@pytest.mark.parametrize(("what", "status"), [("fail", 9), ("abort", 128 + 6), ("overrun", 3)])
def test_the_status_is_the_programs_own_or_3_for_findings(course, what, status):
    assert course("mine.cu", what).returncode == status


def test_a_finding_is_shown_at_its_line_and_written_as_json(course, folder):
    result = course("mine.cu", "overrun", "--json", "out.json")
    assert f"memory  mine.cu:{OVERRUN_LINE}" in result.stderr
    record = json.loads((folder / "out.json").read_text())
    [finding] = record["findings"]
    assert (finding["kind"], Path(finding["file"]).name, finding["line"]) == (
        "memory",
        "mine.cu",
        OVERRUN_LINE,
    )
    [launch] = record["launches"]
    assert launch["kernel"].startswith("add")
    assert launch["counters"]["global_store_requests"] > 0
    assert record["status"] == 0


def test_a_check_can_be_turned_off(course):
    assert course("mine.cu", "overrun", "--no-check", "memory").returncode == 0


def test_a_compile_error_is_shown_at_its_line(course, folder):
    (folder / "wrong.cu").write_text("int main() {\n  return nothing;\n}\n")
    result = course("wrong.cu")
    assert 'wrong.cu:2:10: error: identifier "nothing" is undefined' in result.stderr
    assert "Traceback" not in result.stderr
    assert result.returncode == 125


NEEDS_90A = """\
__global__ void one(int* out) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  *out = 1;
}
int main() {
  int* out;
  cudaMalloc(&out, 4);
  one<<<1, 128>>>(out);
  cudaFree(out);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("arch", "words"),
    [
        ("sm_100", "newer than this device"),
        ("sm_80a", "runs on devices of compute capability 8.0 alone"),
        ("hopper", "there is no architecture 'hopper'"),
    ],
)
def test_an_architecture_that_the_device_does_not_run_is_refused(course, arch, words):
    result = course("--arch", arch, "mine.cu")
    assert words in result.stderr
    assert result.returncode == 125


def test_the_architecture_can_be_chosen(course):
    result = course("--arch", "sm_90a", "mine.cu")
    assert (result.stdout, result.returncode) == ("3 1\n", 0)


def test_a_program_that_needs_another_architecture_gets_its_name(course, folder):
    (folder / "needs.cu").write_text(NEEDS_90A)
    result = course("needs.cu")
    assert "needs.cu:2: error: Instruction 'setmaxnreg.dec' not supported" in result.stderr
    assert "setmaxnreg needs sm_90a: run it with ./course run --arch sm_90a" in result.stderr
    assert course("--arch", "sm_90a", "needs.cu").returncode == 0
