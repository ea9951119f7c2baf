"""Calls timed inside a CUDA graph on hardware: the honest are paid, work outside of the graph is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.program import Target
from common.gpu.devices import first_gpu
from grader.building.build import build
from grader.devices.on_gpu.session import GpuSession
from grader.pipeline.grading import grade
from grader.records.record import Record, Speed
from grader.timing.measured import measure as speed_gpu
from tests.grader.stepped_exercise import EXERCISE, GRAPH_CHEATS, LARGER, SMALL, SOLUTION, graph_cheat


@pytest.fixture(scope="module")
def solution() -> Record:
    return grade(EXERCISE, SOLUTION, submission="solution", device="gpu")


def library(source: Path) -> Path:
    built = build(source, Target.gpu(first_gpu().cc))
    assert built.library is not None, built.message
    return built.library


def measured(source: Path) -> Speed:
    return speed_gpu.measure(EXERCISE, library(EXERCISE.baseline), GpuSession(library(source)), "secret")


def test_the_solution_earns_full_marks(solution: Record):
    assert solution.verdict == "full marks", (solution.parts, solution.speed and solution.speed.notes)


def test_times_are_those_of_a_call_in_a_graph(solution: Record):
    assert solution.speed is not None
    by_key = {(case.name, case.against): case for case in solution.speed.cases}
    assert set(by_key) == {(SMALL, "baseline"), (SMALL, "copy_ for each"), (LARGER, "baseline")}
    for case in by_key.values():
        assert case.protocol == "graph"
        assert len(case.samples) >= 64
        assert 0.4e-6 < case.seconds < 20e-6
        assert case.low <= case.ratio <= case.high
    assert by_key[SMALL, "baseline"].ratio > 1.5


def test_the_baseline_is_as_fast_as_itself():
    speed = measured(EXERCISE.baseline)
    assert speed.targets[0].decision == "missed", speed.notes
    assert 0.9 < speed.cases[0].ratio < 1.1


@pytest.mark.parametrize(("cheat", "words"), GRAPH_CHEATS.items())
def test_work_outside_of_its_place_in_the_graph_is_not_timed(cheat: str, words: str):
    speed = measured(graph_cheat(cheat))
    assert speed.targets == []
    assert any(words in note for note in speed.notes), speed.notes


def test_a_kernel_that_leaves_the_graph_later_is_wrong_while_it_is_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speed_gpu, "trial", lambda *arguments: "")
    speed = measured(graph_cheat("t10_not_captured"))
    assert speed.targets == []
    assert "Its kernel is not in the graph" in speed.wrong[SMALL]
