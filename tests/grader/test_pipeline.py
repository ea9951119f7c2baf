"""The list of stages: who runs when, in which order results come, and what becomes of them in a record."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.devices.device import VirtualDevice
from grader.pipeline import grading
from grader.pipeline.context import Context
from grader.pipeline.events import Event, TaskDone
from grader.pipeline.results import Result, Results
from grader.pipeline.stage import Parallel, Stage, in_sequence
from grader.pipeline.stages.points import Points
from grader.pipeline.submission import Submission
from grader.records.record import PartResult
from grader.spec import registry


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    source = tmp_path / "kernel.cu"
    source.write_text("// nothing\n")
    return Submission.read("ada", registry.find("01"), source)


def context(tmp_path: Path, *wanted: str, heard: list[Event] | None = None, quick: bool = True) -> Context:
    device = VirtualDevice()
    on_event = (lambda event: None) if heard is None else heard.append
    return Context(
        device, "5eed", device.time_budget(), tmp_path, frozenset(wanted), quick=quick, on_event=on_event
    )


def flagging(name: str, **how: bool) -> Stage:
    """A stage that leaves its name."""
    return Stage(name, lambda submission, context, earlier: Result(flags=[name]), "", **how)


def flags(results: Results) -> list[str]:
    return [flag for result in results for flag in result.flags]


def run(stages: Sequence[Stage | Parallel], submission: Submission, context: Context) -> list[str]:
    return flags(in_sequence(stages, submission, context, Results()))


def test_an_optional_stage_runs_where_it_is_wanted(submission: Submission, tmp_path: Path):
    stages = [flagging("build"), flagging("checks", optional=True), flagging("speed", optional=True)]
    assert run(stages, submission, context(tmp_path, "speed")) == ["build", "speed"]


def test_after_a_build_that_failed_only_points_are_counted(submission: Submission, tmp_path: Path):
    failed = Stage("build", lambda *_: Result(flags=["build"], ends=True))
    stages = [failed, flagging("correctness"), flagging("points", always=True)]
    assert run(stages, submission, context(tmp_path)) == ["build", "points"]


def test_a_stage_sees_what_earlier_ones_made_and_none_that_runs_beside_it(
    submission: Submission, tmp_path: Path
):
    def seen(submission: Submission, context: Context, earlier: Results) -> Result:
        return Result(flags=["+".join(flags(earlier))])

    stages: list[Stage | Parallel] = [
        flagging("a"),
        Parallel([flagging("b"), Stage("c", seen)]),
        Stage("d", seen),
    ]
    assert run(stages, submission, context(tmp_path)) == ["a", "b", "a", "a+b+a"]


@pytest.mark.parametrize("quick", [True, False])
def test_stages_beside_each_other_are_heard_in_their_order(
    submission: Submission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
):
    monkeypatch.setattr(VirtualDevice, "tasks_at_once", 2)
    heard: list[Event] = []
    over = threading.Event()

    def first(submission: Submission, context: Context, earlier: Results) -> Result:
        assert over.wait(10) or not quick
        context.on_event(TaskDone("first", []))
        return Result(flags=["first"])

    def second(submission: Submission, context: Context, earlier: Results) -> Result:
        context.on_event(TaskDone("second", []))
        over.set()
        return Result(flags=["second"])

    if not quick:
        over.set()
    both = [Parallel([Stage("first", first), Stage("second", second)])]
    assert run(both, submission, context(tmp_path, heard=heard, quick=quick)) == ["first", "second"]
    assert [event.step for event in heard if isinstance(event, TaskDone)] == ["first", "second"]


def test_results_cannot_be_changed_and_are_found_by_their_kind():
    points = Points(verdict="full marks")
    results = Results().with_(Result(flags=["a"])).with_(None).with_(points)
    assert results.of(Points) is points
    assert len(results.made) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        points.verdict = "better"  # type: ignore[misc]


def test_one_line_adds_a_stage_whose_result_is_in_the_record(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
):
    counted = Stage("points", lambda *_: Points(parts=[PartResult("correct", 3.0, 4.0)], verdict="so so"))
    monkeypatch.setattr(grading, "PIPELINE", (flagging("mine"), counted))
    record = grading.grade(
        submission.exercise, submission.path, submission="ada", device="virtual", seed="5eed"
    )
    assert (record.flags, record.verdict, record.points, record.max_points) == (["mine"], "so so", 3.0, 4.0)
    assert (record.source, record.source_sha256) == (submission.text, submission.sha256)
    assert record.left_out == ["a cache past 2^31 elements"]


def test_a_verdict_names_the_part_that_an_added_stage_took_points_from(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
):
    tidy = Stage("tidy", lambda *_: Result(parts=[PartResult("tidy", 0.0, 5.0)]))
    correct = Stage("points", lambda *_: Points(parts=[PartResult("correct", 40.0, 40.0)]))
    monkeypatch.setattr(grading, "PIPELINE", (tidy, correct))
    record = grading.grade(submission.exercise, submission.path, submission="ada", device="virtual")
    assert (record.verdict, record.points, record.max_points) == ("correct, tidy missing", 40.0, 45.0)
