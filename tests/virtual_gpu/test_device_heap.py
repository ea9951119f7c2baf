"""malloc and new in device code: a heap with a limit, and findings for what is done wrong with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.report import Report
from common.virtual_gpu.session import run_program

SOURCE = Path(__file__).parent / "device_heap" / "device_heap.cu"


@cache
def built() -> Path:
    return build_program([SOURCE], Target.virtual()).path


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


def report_of(what: str) -> Report:
    run = run_program(built(), [what], stdout=-1, stderr=-1, timeout=60)
    assert run.status == 0, run.stdout + run.stderr
    return run.report


@pytest.mark.parametrize("what", ["right_uses", "limits"])
def test_right_uses_are_no_finding_and_leave_nothing(what):
    report = report_of(what)
    assert not report.findings
    assert not report.notes
    assert not report.leaks


@pytest.mark.parametrize(
    ("kernel", "mistake", "line", "words"),
    [
        ("past_the_end", "OutOfBounds", "p[i] = i", "first byte past the end of device malloc #1 (40 bytes)"),
        ("after_free", "UseAfterFree", "*out = p[3];", "offset 12 of device malloc #1, which has been freed"),
        ("middle", "BadDeviceFree", "free(p + 1)", "a pointer 4 bytes into device malloc #1"),
        ("not_its_own", "BadDeviceFree", "free(out)", "cudaMalloc #1, which device code did not allocate"),
    ],
)
def test_a_mistake_is_one_finding_on_its_line(kernel, mistake, line, words):
    (found,) = report_of(kernel).findings
    assert found.mistake == mistake
    first = line_of(f"__global__ void {kernel}(")
    assert line in SOURCE.read_text().splitlines()[found.place[0].line - 1]
    assert first < found.place[0].line < first + 8
    assert words in found.message


def test_a_second_free_names_the_first():
    (found,) = report_of("twice").findings
    assert found.mistake == "BadDeviceFree"
    first = line_of("__global__ void twice(") + 2
    assert found.message.endswith(
        f"device malloc #1 a second time: it was freed by free at device_heap.cu:{first}"
    )
    assert found.place[0].line == first + 1


def test_memory_begins_undefined():
    found = report_of("unwritten").findings
    assert {finding.kind for finding in found} == {"init"}
    assert "device malloc #1" in found[0].message


def test_what_is_never_freed_is_a_note_on_the_line_that_allocated():
    report = report_of("leak")
    assert not [finding for finding in report.findings if finding.kind == "memory"]
    (note,) = [note for note in report.notes if note.mistake == "HeapLeft"]
    assert note.place[0].line == line_of("malloc(24)")
    assert "96 allocations of device code (2304 bytes of its heap) were never freed" in note.message


def test_the_host_cannot_copy_from_the_heap():
    found = [finding.message for finding in report_of("host_copy").findings]
    assert any("which a kernel allocated: the host's calls do not reach the heap" in text for text in found)
