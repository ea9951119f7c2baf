"""Findings about host code carry the line of the user's source: calls of the API, and faults."""

from __future__ import annotations

import platform
import signal
from functools import cache
from pathlib import Path

import pytest

from common.virtual_gpu.session import RunReport
from tests.made_source import made_source
from tests.virtual_gpu.programs_together import ProgramsTogether
from tests.virtual_gpu.small_programs import PREAMBLE, build_text, build_texts, run

# Each statement is a mistake; `device` has 64 bytes, `host` as many. Its line is the one marked.
MISTAKES = {
    "double free": ("memory", "cudaFree(device); cudaFree(device);  // here", "a second time"),
    "unknown pointer": ("memory", "cudaFree(host);  // here", "not in any memory"),
    "middle": ("memory", "cudaFree(device + 4);  // here", "into the middle of cudaMalloc #1"),
    "wrong function": ("memory", "cudaFreeHost(device);  // here", "not its to free"),
    "copy past the end": ("memory", "cudaMemcpy(device, host, 128, to_device);  // here", "64 past its end"),
    "async copy": ("memory", "cudaMemcpyAsync(host, device, 65, to_host);  // here", "1 past its end"),
    "wrong direction": ("memory", "cudaMemcpy(device, host, 64, to_host);  // here", "destination in device"),
    "fill past the end": ("memory", "cudaMemset(device, 0, 68);  // here", "4 past its end"),
    "nothing written": ("init", "cudaMemcpy(host, device, 64, to_host);  // here", "nothing has written"),
    "queued free": ("memory", "for (int i = 0; i < 2; ++i) cudaFreeAsync(device, 0);  // here", "queued"),
}


MISTAKE = """
const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost;
int main() {
  char *device = nullptr, host[256] = {};
  cudaMalloc(&device, 64);  // allocation
  STATEMENT
  cudaDeviceSynchronize();
  return host[7];
}
"""
USE_AFTER_FREE = """
int main() {
  char *device = nullptr, host[64] = {};
  cudaMalloc(&device, 64);
  cudaFree(device);
  cudaMemcpy(device, host, 64, cudaMemcpyHostToDevice);
  return 0;
}
"""
SAME_MISTAKE_TWICE = """
int main() {
  char* device = nullptr;
  cudaMalloc(&device, 64);
  for (int i = 0; i < 3; ++i) cudaMemset(device, i, 65);
  cudaMemset(device, 0, 65);
  cudaFree(device + 1);
  cudaFree(device);
  return 0;
}
"""
HELPER = "inline int* numbers(int n) { int* x; cudaMalloc(&x, n * sizeof(int)); return x; }\n"
HELPED = """
#include "HELPER"
int* allocate_some() {
  int* made = numbers(100);
  return made;
}
int main() { return allocate_some() == nullptr; }
"""
COPY_BY_THE_LIBRARY = """
#include <cstring>
int main() {
  char* device = nullptr;
  char host[4096];
  cudaMalloc(&device, 4096);
  const volatile int count = 1;
  std::memcpy(host, device, 4095 + count);
  return host[7];
}
"""
FAULT_OF_ITS_OWN = """
#include <csignal>
void mine(int) { write(1, "mine\\n", 5); _exit(7); }
int main() {
  std::signal(SIGSEGV, mine);
  cudaFree(nullptr);
  cudaDeviceSynchronize();
  *reinterpret_cast<volatile int*>(8) = 1;
  return 0;
}
"""
PROGRAMS = {
    **{name.replace(" ", "_"): MISTAKE.replace("STATEMENT", row[1]) for name, row in MISTAKES.items()},
    "use_after_free": USE_AFTER_FREE,
    "same_mistake_twice": SAME_MISTAKE_TWICE,
    "copy_by_the_library": COPY_BY_THE_LIBRARY,
    "fault_of_its_own": FAULT_OF_ITS_OWN,
}


@cache
def programs() -> ProgramsTogether:
    helped = HELPED.replace("HELPER", str(made_source("helper.cuh", HELPER)))
    return build_texts({**PROGRAMS, "helped": helped})


def run_of(name: str) -> RunReport:
    return programs().run(name, timeout=60)


def line_of(name: str, marker: str = "// here") -> int:
    numbered = enumerate((PREAMBLE + PROGRAMS[name]).splitlines(), start=1)
    (line,) = [number for number, text in numbered if marker in text]
    return line


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistaken_call_is_found_at_its_line(mistake: str):
    kind, _, words = MISTAKES[mistake]
    name = mistake.replace(" ", "_")
    report = run_of(name).report
    (finding,) = report.findings
    assert (finding.kind, finding.line) == (kind, line_of(name)), finding
    assert Path(finding.file).name == f"{name}.cu"
    assert words in finding.message
    if finding.allocation:
        assert finding.allocated_at[0].line == line_of(name, "// allocation")
    for leak in report.leaks:
        assert leak.line == line_of(name, "// allocation")


def test_a_use_after_free_names_the_allocation_and_the_free():
    (finding,) = run_of("use_after_free").report.findings
    assert finding.message.endswith("cudaMalloc #1, which was freed by cudaFree at use_after_free.cu:8.")
    assert (finding.line, finding.allocated_at[0].line) == (9, 7)


def test_the_same_mistake_on_two_lines_is_two_findings_in_the_order_of_the_calls():
    findings = run_of("same_mistake_twice").report.findings
    assert [(finding.line, finding.count) for finding in findings] == [(8, 3), (9, 1), (10, 1)]


def test_a_helper_from_a_header_is_named_by_the_line_that_calls_it():
    (leak,) = run_of("helped").report.leaks
    assert [place.line for place in leak.place] == [7, 10]
    assert {Path(place.file).name for place in leak.place} == {"helped.cu"}


def test_a_program_without_debug_information_still_gets_its_findings():
    program = build_text(
        """
        int main() {
          char* device = nullptr;
          cudaMalloc(&device, 64);
          cudaFree(device);
          cudaFree(device);
        }
        """,
        "-Xlinker",
        "-s",
        "-Xcompiler",
        "-g0",
    )
    (finding,) = run(program).report.findings
    assert finding.place == ()
    assert "it was freed by cudaFree at program" in finding.message


def test_a_host_dereference_of_a_device_pointer_is_found_at_its_line():
    program = build_text(
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


@pytest.mark.xfail(platform.machine() == "aarch64", reason="on ARM the caller is not found", strict=True)
def test_a_library_function_given_a_device_pointer_is_blamed_on_its_caller():
    (finding,) = run_of("copy_by_the_library").report.findings
    place = (finding.kind, Path(finding.file).name, finding.line)
    assert place == ("host", "copy_by_the_library.cu", line_of("copy_by_the_library", "std::memcpy"))


def test_other_faults_stay_the_programs_own():
    result = run_of("fault_of_its_own")
    assert (result.status, result.stdout, result.report.findings) == (7, "mine\n", ())
