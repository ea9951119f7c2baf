"""Verbs answer at once: what is heavy is imported where it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from common.core.paths import REPOSITORY
from tests.waiting import LONG

HEAVY = {"torch", "numpy", "rich", "matplotlib", "triton", "hypothesis", "IPython"}
QUICK = (
    "grader",
    "grader.cli",
    "grader.cli.student.list",
    "grader.cli.student.start",
    "grader.cli.student.check",
    "grader.cli.instructor.grade",
    "grader.notebook",
)


@pytest.mark.parametrize("module", QUICK)
def test_importing_a_verb_is_cheap(module):
    script = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )
    assert answer.stdout.split() == []
