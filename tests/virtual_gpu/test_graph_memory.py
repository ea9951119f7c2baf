"""Memory that a graph allocates is there from its allocation to its free, and mistakes with it are found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program

SOURCE = Path(__file__).parent / "graph_memory" / "graph_memory.cu"


def run(*arguments: str) -> RunReport:
    built = build_program([SOURCE], Target.virtual(), extra_flags=("-std=c++17",))
    ran = run_program(built.path, arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert ran.stdout == "done\n", f"{ran.ending}:\n{ran.stdout}{ran.stderr}"
    return ran


def line_of(text: str) -> int:
    [number] = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    return number


def test_a_graph_allocates_and_frees_by_cudas_rules() -> None:
    ran = run()
    assert ran.report.findings == ()
    assert ran.report.leaks == ()


# What each mistake is called, and a text of the line that is named: of a kernel that line is its own.
_ADD, _ADD_FROM = "  *to += amount;", "  *to += *amount;"


@pytest.mark.parametrize(
    ("mistake", "kind", "words", "line"),
    [
        ("used_after_the_free", "memory", "which has been freed (cudaFreeAsync", _ADD),
        ("used_before_the_launch", "memory", "which its graph has not allocated yet", _ADD),
        (
            "filled_before_the_launch",
            "memory",
            "which its graph has not allocated yet",
            "kBytes, stream);  // too",
        ),
        ("freed_twice", "memory", "a second time: this graph frees it already", "// a second time"),
        ("freed_before_the_launch", "memory", "which its graph has not allocated yet", "// nothing yet"),
        ("freed_though_from_outside", "memory", "which no graph allocates", "// not the graph's"),
        ("freed_on_another_stream", "memory", "which no launch of its graph has allocated", "// in no order"),
        ("read_before_it_is_written", "init", "which nothing has written", _ADD_FROM),
    ],
)
def test_a_mistake_is_reported_with_its_line(mistake: str, kind: str, words: str, line: str) -> None:
    found = run(mistake).report.findings
    stated = [(one.kind, one.line) for one in found if words in one.message]
    assert (kind, line_of(line)) in stated, found
    if kind == "memory":
        assert len(found) == 1


def test_what_no_launch_and_no_call_frees_is_a_leak() -> None:
    [leak] = run("never_freed").report.leaks
    assert leak.line == line_of("OK(cudaMallocAsync(&memory, kBytes, stream));")
    assert leak.bytes == 1 << 20
