"""Launches from device code: children run in the order of their streams, when their parent has ended."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program

SOURCE = Path(__file__).parent / "device_launches" / "device_launches.cu"
LEVELS = [1, 2, 3, 4, 5, 6, 7, 8, *[0] * 24]


@cache
def built() -> Path:
    return build_program([SOURCE], Target.virtual(), extra_flags=("-rdc=true", "-lcudadevrt")).path


def run(what: str) -> RunReport:
    return run_program(built(), [what], stdout=-1, stderr=-1, timeout=60)


def answer(result: RunReport) -> list[int]:
    assert result.status == 0, result.stdout + result.stderr
    status, _, values = result.stdout.splitlines()[-1].partition(":")
    assert status == "0"
    return [int(value) for value in values.split()]


@pytest.mark.parametrize(
    ("what", "expected", "launches"),
    [
        ("one_each", [32 * 33 // 2] * 32, 33),
        ("in_order", [7] * 32, 4),
        ("deeper", LEVELS, 8),
        ("tail", [*LEVELS[:31], 8], 10),
        ("streams", [*[5] * 20, *[0] * 4, *[5] * 7, 0], 2),
        ("wrong", [1, 1, *[0] * 30], 1),
        ("quicksort", list(range(32)), None),
    ],
)
def test_children_do_their_work_and_are_launches_of_the_report(what, expected, launches):
    result = run(what)
    assert answer(result) == expected
    assert not result.report.findings
    assert not result.report.leaks
    if launches is not None:
        assert len(result.report.launches) == launches


def test_a_launch_that_fails_is_a_note_with_the_reason():
    result = run("wrong")
    assert result.stdout.startswith("cudaErrorInvalidValue\n")
    (note,) = result.report.notes
    assert note.mistake == "ChildRefused"
    assert "blocks of (2048,1,1) have more than 1024 threads" in note.message
    assert "add<<<1, 2048>>>" in SOURCE.read_text().splitlines()[note.place[0].line - 1]


def test_a_finding_of_a_child_names_the_child_and_its_line():
    (found,) = run("launches_a_mistake").report.findings
    assert found.mistake == "OutOfBounds"
    assert "past_the_end" in found.kernel
    assert "data[threadIdx.x + 1] = 0" in SOURCE.read_text().splitlines()[found.place[0].line - 1]
