"""Findings about host code carry the line of the user's source: calls of the API, and faults."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.virtual_gpu.small_programs import build_text, run

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


def line_of(program: Path, marker: str = "// here") -> int:
    """The line of the marked statement in the source that `build_text` wrote."""
    numbered = enumerate((program / "program.cu").read_text().splitlines(), start=1)
    (line,) = [number for number, text in numbered if marker in text]
    return line


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistaken_call_is_found_at_its_line(tmp_path, name):
    kind, statement, words = MISTAKES[name]
    program = build_text(
        tmp_path,
        f"""
        const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost;
        int main() {{
          char *device = nullptr, host[256] = {{}};
          cudaMalloc(&device, 64);  // allocation
          {statement}
          cudaDeviceSynchronize();
          return host[7];
        }}
        """,
    )
    report = run(program).report
    (finding,) = report.findings
    assert (finding.kind, finding.line) == (kind, line_of(tmp_path)), finding
    assert Path(finding.file).name == "program.cu"
    assert words in finding.message
    if finding.allocation:
        assert finding.allocated_at[0].line == line_of(tmp_path, "// allocation")
    for leak in report.leaks:
        assert leak.line == line_of(tmp_path, "// allocation")


def test_a_use_after_free_names_the_allocation_and_the_free(tmp_path):
    program = build_text(
        tmp_path,
        """
        int main() {
          char *device = nullptr, host[64] = {};
          cudaMalloc(&device, 64);
          cudaFree(device);
          cudaMemcpy(device, host, 64, cudaMemcpyHostToDevice);
        }
        """,
    )
    (finding,) = run(program).report.findings
    assert finding.message.endswith("cudaMalloc #1, which was freed by cudaFree at program.cu:8.")
    assert (finding.line, finding.allocated_at[0].line) == (9, 7)


def test_the_same_mistake_on_two_lines_is_two_findings_in_the_order_of_the_calls(tmp_path):
    program = build_text(
        tmp_path,
        """
        int main() {
          char* device = nullptr;
          cudaMalloc(&device, 64);
          for (int i = 0; i < 3; ++i) cudaMemset(device, i, 65);
          cudaMemset(device, 0, 65);
          cudaFree(device + 1);
          cudaFree(device);
        }
        """,
    )
    findings = run(program).report.findings
    assert [(finding.line, finding.count) for finding in findings] == [(8, 3), (9, 1), (10, 1)]


def test_a_helper_from_a_header_is_named_by_the_line_that_calls_it(tmp_path):
    (tmp_path / "helper.cuh").write_text(
        "inline int* numbers(int n) { int* x; cudaMalloc(&x, n * sizeof(int)); return x; }\n"
    )
    program = build_text(
        tmp_path,
        """
        #include "helper.cuh"
        int* allocate_some() {
          int* made = numbers(100);
          return made;
        }
        int main() { return allocate_some() == nullptr; }
        """,
    )
    (leak,) = run(program).report.leaks
    assert [place.line for place in leak.place] == [7, 10]
    assert {Path(place.file).name for place in leak.place} == {"program.cu"}


def test_a_program_without_debug_information_still_gets_its_findings(tmp_path):
    program = build_text(
        tmp_path,
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
