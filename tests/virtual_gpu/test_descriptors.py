"""wgmma reads through its descriptors what it read on an H200, question by question."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.virtual_gpu.descriptors.record import LIMIT_SECONDS, PROGRAMS, answers, recorded
from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.stem)
def test_every_question_is_answered_as_on_the_gpu(source):
    ran = run_program(
        build_program([source], Target.virtual("90a")).path,
        timeout=LIMIT_SECONDS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert ran.status == 0
    assert not ran.report.findings
    wanted, got = recorded()[source.stem], answers(ran.stdout)
    assert got.keys() == wanted.keys()
    assert [question for question in wanted if got[question] != wanted[question]] == []
