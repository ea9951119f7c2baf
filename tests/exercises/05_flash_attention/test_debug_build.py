"""The solution built with FLASH_DEBUG: it shows every score and weight, and answers bit by bit as without."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.build.program import Target
from common.core.paths import REPOSITORY
from grader.answers.compare import same_buffers
from grader.building.build import build
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.session import Outcome
from grader.spec import At, Call, Case, registry
from grader.spec.random_inputs import Random
from tests.waiting import LONG

EXERCISE = registry.find("05")
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
SECONDS = 60.0
KEYS = 32  # in a tile of the solution
CASES = [
    SHAPES.attention("a tail", length=77, heads=2),
    SHAPES.attention("causal", length=130, heads=2, batch=2, causal=1, rows_apart=1),
    SHAPES.attention("heads of 128, causal", length=70, head_dim=128, causal=1),
    SHAPES.attention("large scores", length=100, size=80),
    SHAPES.attention("one tile", length=KEYS),
]
named = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def library(*defines: str) -> Path:
    built = build(EXERCISE.solution, Target.virtual(), defines)
    assert built.library is not None, built.message
    return built.library


@pytest.fixture(scope="module")
def release() -> Iterator[VirtualSession]:
    with VirtualSession(library()) as session:
        yield session


@pytest.fixture(scope="module")
def debug() -> Iterator[VirtualSession]:
    with VirtualSession(library("FLASH_DEBUG=1")) as session:
        yield session


def test_a_student_sees_scores_and_weights(tmp_path: Path) -> None:
    shutil.copy(EXERCISE.folder / "scores.cu", tmp_path)
    shutil.copy(EXERCISE.solution, tmp_path)
    command = [sys.executable, "-m", "grader", "run", str(tmp_path / "scores.cu"), "-I", "common/cuda"]
    shown = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LONG)
    assert shown.returncode == 0, shown.stderr
    scores, weights = shown.stdout.split("returned 0 (no error)")[1].split("weights,")
    assert "0.000   1.000   2.000   3.000   3.000   3.000   3.000   3.000" in scores
    assert "0.050   0.135   0.368   1.000   1.000   1.000   1.000   1.000" in weights


def plain_call(case: Case) -> Call:
    return EXERCISE.inputs(case.size, Random("of the debug build"))


def debug_call(case: Case) -> Call:
    """The same inputs, and room for what only registers see else; NaN where nothing is written."""
    call, size = plain_call(case), case.size
    *before, _, stream = call.arguments  # it has scores and weights where the other has bfloat16
    shape = (size.batch, size.heads, size.length, size.length)
    shown = {name: torch.full(shape, torch.nan) for name in ("scores", "weights")}
    return Call({**call.buffers, **shown}, ("out", *shown), (*before, At("scores"), At("weights"), stream))


def ran(session: VirtualSession, entry: str, call: Call) -> Outcome:
    outcome = session.run(entry, call, SECONDS)
    assert outcome.ok, outcome.message
    assert outcome.report.findings == ()
    return outcome


@named
def test_both_builds_answer_the_same_bits(case: Case, release: VirtualSession, debug: VirtualSession) -> None:
    answer = ran(release, EXERCISE.entry, plain_call(case)).after
    shown = ran(debug, f"{EXERCISE.entry}_debug", debug_call(case)).after
    assert same_buffers(answer, shown)


@named
def test_the_scores_it_shows_are_queries_times_keys(case: Case, debug: VirtualSession) -> None:
    call = debug_call(case)
    found = ran(debug, f"{EXERCISE.entry}_debug", call).after["scores"].double()
    layout = sys.modules["exercise_05_flash_attention.layout"]
    queries, keys = (layout.heads_of(case.size, call.buffers[n]).double() for n in ("queries", "keys"))
    wanted = queries @ keys.transpose(-1, -2)
    seen = torch.ones(case.size.length, case.size.length, dtype=torch.bool)
    if case.size.causal:
        seen.tril_()
    error = (found - wanted)[..., seen].abs().max() / wanted.abs().max()
    assert error < 1e-6  # products of halves are exact, and summed in fp32
    hidden = found[..., ~seen]
    assert bool(((hidden == -torch.inf) | hidden.isnan()).all())  # masked, or in a tile that nobody visits


def test_in_one_tile_the_weights_it_shows_are_those_of_the_softmax(debug: VirtualSession) -> None:
    case = CASES[-1]
    shown = ran(debug, f"{EXERCISE.entry}_debug", debug_call(case)).after
    weights = shown["weights"].double()
    wanted = torch.softmax(shown["scores"].double() * SHAPES.softmax_scale(case.size), dim=-1)
    highest = weights.max(dim=-1).values
    assert torch.allclose(highest, torch.ones_like(highest), rtol=1e-5)  # relative to it
    assert torch.allclose(weights / weights.sum(-1, keepdim=True), wanted, rtol=1e-5, atol=0)
