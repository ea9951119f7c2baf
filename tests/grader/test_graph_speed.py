"""Calls timed inside a CUDA graph: what counts as having been captured, and what the times are."""

from __future__ import annotations

import dataclasses

import pytest

from grader.spec import HostTime
from grader.timing.measured import interleaved
from grader.timing.measured import measure as speed_gpu
from tests.grader.gpu_on_virtual import TORCH_SECONDS, few_samples, gpu_on_virtual, measured
from tests.grader.stepped_exercise import EXERCISE, GRAPH_CHEATS, LARGER, SMALL, SOLUTION, graph_cheat

pytestmark = pytest.mark.usefixtures(gpu_on_virtual.__name__, few_samples.__name__)


def test_a_graph_of_one_launch_a_call_beats_one_of_many():
    speed = measured(SOLUTION, EXERCISE)
    assert speed.wrong == {}
    assert [(c.name, c.against, c.protocol) for c in speed.cases] == [
        (SMALL, "baseline", "graph"),
        (SMALL, "copy_ for each", "graph"),
        (LARGER, "baseline", "graph"),
    ]
    small, library_way, _ = speed.cases
    assert small.ratio > 3
    assert 0.5e-6 < small.seconds < 3e-6  # a call, not the graph
    assert library_way.baseline_seconds == pytest.approx(TORCH_SECONDS)
    assert [target.decision for target in speed.targets] == ["met", "met"], speed.notes


def test_the_baseline_is_as_fast_as_itself():
    speed = measured(EXERCISE.baseline, EXERCISE)
    assert speed.targets[0].decision == "missed"
    assert speed.cases[0].ratio == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(("cheat", "words"), GRAPH_CHEATS.items())
def test_work_outside_of_its_place_in_the_graph_is_not_timed(cheat: str, words: str):
    speed = measured(graph_cheat(cheat), EXERCISE)
    assert speed.targets == []
    assert any(words in note for note in speed.notes), speed.notes


def test_a_kernel_that_leaves_the_graph_later_is_wrong_while_it_is_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speed_gpu, "trial", lambda *arguments: "")
    speed = measured(graph_cheat("t10_not_captured"), EXERCISE)
    assert speed.targets == []
    assert "call 1 of 16 in the graph" in speed.wrong[SMALL]
    assert "Its kernel is not in the graph" in speed.wrong[SMALL]


def test_the_host_time_of_a_call_is_held_against_a_librarys(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        interleaved, "_HOST_TURNS", 5
    )  # one alone is noise where other tests run beside this one
    target = HostTime(against="copy_ for each", cases=(SMALL,), at_most=1e6)
    speed = measured(
        SOLUTION,
        dataclasses.replace(EXERCISE, targets=(target, EXERCISE.targets[0])),
    )
    assert [target.decision for target in speed.targets] == ["met", "met"], speed.notes
    assert "copy_ for each" in speed.targets[0].name
    host = speed.cases[-1]
    assert (host.protocol, host.against) == ("host", "copy_ for each")
    assert host.baseline_seconds > 0
    assert 1e-6 < host.seconds < 1e-2
