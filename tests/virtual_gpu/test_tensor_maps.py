"""Tensor maps do here what they did on an H200, case by case, and what that refused is found."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.virtual_gpu.tensor_maps.cases import CRASH, PROGRAM, Answered, answers, recorded
from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program

LIMIT_SECONDS = 120.0
INVALID = "encode 1"
RECORDED = recorded()


@cache
def program() -> Path:
    return build_program([PROGRAM], Target.virtual("90a")).path


def asked(cases: Sequence[str], folder: Path) -> tuple[list[str], list[RunReport]]:
    """What came of the cases, and of the processes they ran in."""
    reports: list[RunReport] = []

    def run(path: Path, first: int) -> str:
        reports.append(
            run_program(
                program(),
                [str(path), str(first)],
                timeout=LIMIT_SECONDS,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return reports[-1].stdout

    return list(answers(run, cases, folder)), reports


def unlike(wanted: Sequence[Answered], got: Sequence[str]) -> list[tuple[str, str, str]]:
    pairs = zip(wanted, got, strict=True)
    # Where the driver ends the process, there is an error here.
    return [
        (one.case, one.answer, answer)
        for one, answer in pairs
        if answer != (INVALID if one.answer == CRASH else one.answer)
    ]


def test_every_copy_moves_the_bytes_that_the_gpu_moved(tmp_path):
    fine = [one for one in RECORDED if not one.fails]
    got, reports = asked([one.counted for one in fine], tmp_path)
    assert unlike(fine, got) == []
    (ran,) = reports
    # The only copies that ran and should not have: with offsets that have no room.
    assert [finding.kind for finding in ran.report.findings if "has the offset" not in finding.message] == []


def test_every_copy_that_the_gpu_refused_ends_with_its_error_and_a_finding(tmp_path):
    failing = [one for one in RECORDED if one.fails]
    got, reports = asked([one.case + " expect=16" for one in failing], tmp_path)
    assert unlike(failing, got) == []
    assert len(reports) == len(failing)
    for one, ran in zip(failing, reports, strict=True):
        assert [finding.kind for finding in ran.report.findings] == ["memory"], one.case
        assert all(finding.advice for finding in ran.report.findings), one.case
