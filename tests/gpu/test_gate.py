"""The acceptance gate on hardware: what profilers and sanitizers look at runs, and they can look at it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from common.build.program import Target
from common.core.paths import REPOSITORY
from common.gpu.devices import first_gpu
from grader.bench import one_call
from grader.building.build import build
from grader.gate import sanitizer
from grader.gate.find import find
from grader.tuning import ncu
from grader.tuning.counters import L2_HITS

EXERCISE, GATE = find("05")
CASE = GATE.checked[0]


@pytest.fixture(scope="module")
def library():
    built = build(EXERCISE.baseline, Target.gpu(first_gpu().cc))
    assert built.library is not None, built.message
    return built.library


def test_one_call_outside_of_any_walls_succeeds(library):
    command = one_call.command(EXERCISE.id, CASE, library)
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("compute-sanitizer") is None, reason="needs compute-sanitizer")
def test_the_sanitizer_sees_the_call_and_finds_nothing(library):
    looks = sanitizer.look(EXERCISE, [CASE], library, lambda text: None)
    assert [(look.calls, list(look.findings), look.lack) for look in looks] == [(1, [], "")] * 2


@pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu")
def test_ncu_counts_the_call_where_it_may(library):
    counted = ncu.profiled(EXERCISE.id, CASE, library)
    if not counted:
        pytest.skip("ncu may not count here")
    assert 0 <= counted[L2_HITS] <= 100
