"""Correct programs that a simple scheduler or a hasty check gets wrong: right answers, and silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.virtual_gpu.hostile.runner import run

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["scheduling", "tricky_shared", "tricky_library"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tricky_but_correct_program_is_right_and_silent(name):
    ran = run(name)
    assert ran.status == 0, f"{ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert f"{name}: ok" in ran.stdout
    assert ran.report.findings == ()
    assert ran.report.leaks == ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_do_not_depend_on_the_checks(name):
    checks = dict.fromkeys(("memory", "race", "init", "sync", "async", "counters"), False)
    assert run(name, **checks).stdout == run(name).stdout


@pytest.mark.skipif(
    "COURSE_TEST_PORTABLE" not in os.environ,
    reason="builds a second engine, which takes minutes: set COURSE_TEST_PORTABLE=1",
)
def test_the_portable_engine_gives_the_same_answers():
    """Built without AVX2, as for other processors."""
    script = (
        "import sys\n"
        "from tests.virtual_gpu.hostile.runner import run\n"
        "for name in sys.argv[1:]:\n"
        "    ran = run(name)\n"
        "    assert ran.report.findings == (), ran.report.findings\n"
        "    print(ran.stdout, end='')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *PROGRAMS],
        cwd=ROOT,
        env={**os.environ, "VGPU_ISA": "portable"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "".join(run(name).stdout for name in PROGRAMS)
