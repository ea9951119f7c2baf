"""Scratch, baselines on cases of their own and steps that are timed, with a tiny exercise on hardware."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from common.build.program import Target
from common.gpu.devices import first_gpu
from grader.answers.compare import answer, difference
from grader.bench.on_gpu import bench_gpu
from grader.building.build import build
from grader.devices.on_gpu.memory import Copied, Shared
from grader.devices.on_gpu.session import GpuSession
from grader.pipeline.grading import grade
from grader.records.record import Record, Speed
from grader.spec import CopyBandwidth, Exercise, Speedup, TimingProtocol
from grader.spec.random_inputs import Random
from grader.timing.measured import measure as speed_gpu
from grader.timing.speed_cases import COPY
from tests.grader.pooled_exercise import (
    COUNTERS_LEFT,
    EXERCISE,
    SCRATCH_READ_FIRST,
    SOLUTION,
    STEP_MISSING,
    STEP_ON_OTHER_STREAM,
    STEP_WRONG_WHEN_LARGE,
    changed,
)

CASE = EXERCISE.bench[0]


def library(source: Path) -> Path:
    built = build(source, Target.gpu(first_gpu().cc))
    assert built.library is not None, built.message
    return built.library


def measured(source: Path, exercise: Exercise = EXERCISE) -> Speed:
    return speed_gpu.measure(exercise, library(EXERCISE.baseline), GpuSession(library(source)), "secret")


def timed(protocol: TimingProtocol, **changes) -> Exercise:
    target = Speedup((CASE.name,), passing=0.5, full=0.6, least_each=0.1, protocol=protocol)
    return dataclasses.replace(EXERCISE, targets=(target,), **changes)


@pytest.fixture(scope="module")
def solution() -> Record:
    return grade(EXERCISE, SOLUTION, submission="solution", device="gpu")


def test_the_solution_earns_full_marks(solution: Record):
    assert solution.verdict == "full marks", (solution.parts, solution.speed and solution.speed.notes)
    assert solution.speed is not None
    assert [(case.name, case.against) for case in solution.speed.cases] == [
        *((case.name, "baseline") for case in EXERCISE.bench),
        ("doubled: many", COPY),
    ]
    # Where a step is timed on a GPU, it must be right as well.
    assert {"many", "very many"} <= {case.name for case in solution.cases if case.step == "doubled"}


@pytest.mark.parametrize("memory", [Shared, Copied])
def test_scratch_holds_nothing_of_use(memory):
    call = EXERCISE.inputs(CASE.size, Random("scratch", "cuda"))
    for source, reads_it in ((SOLUTION, False), (changed(SCRATCH_READ_FIRST), True)):
        with GpuSession(library(source)) as session:
            session._memory = memory()
            for _ in range(2):
                outcome = session.run(EXERCISE.entry, call, 60.0)
                assert outcome.ok, outcome.message
                assert set(outcome.after) == set(call.kept)
                assert bool(torch.isnan(outcome.after["out"]).all()) is reads_it
                wrong = difference(
                    EXERCISE, CASE.size, call, answer(EXERCISE, CASE.size, call), outcome.after
                )
                assert (wrong is not None) is reads_it


@pytest.mark.parametrize("protocol", ["cold", "graph"])
def test_calls_that_are_timed_must_restore_their_counters(protocol: TimingProtocol):
    speed = measured(SOLUTION, timed(protocol))
    assert [target.decision for target in speed.targets] == ["met"], speed.notes
    left = measured(changed(COUNTERS_LEFT), timed(protocol))
    assert left.targets == []
    assert "counters[0] was 0 and is 2 after the call" in left.wrong[CASE.name]


@pytest.mark.parametrize("protocol", ["cold", "graph"])
def test_a_ratio_is_over_the_baseline_on_its_own_case(protocol: TimingProtocol):
    apart = measured(EXERCISE.baseline, timed(protocol)).cases[0]
    same = measured(EXERCISE.baseline, timed(protocol, baseline_case=None)).cases[0]
    assert 0.9 < same.ratio < 1.1
    assert apart.ratio > same.ratio * 1.2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (STEP_WRONG_WHEN_LARGE, "it was wrong while it was timed: target[10000]"),
        (STEP_MISSING, "there is no entry point double_all"),
        (STEP_ON_OTHER_STREAM, "outputs are written while the given stream is still blocked"),
    ],
)
def test_a_step_that_cannot_be_timed_costs_its_own_target_alone(change, words: str):
    speed = measured(changed(change))
    assert [target.decision for target in speed.targets] == ["met", "missed"], speed.notes
    assert words in speed.targets[1].message


def test_a_step_that_is_large_is_accepted():
    """Both clocks agree about a step that takes a while, with nothing timed beside it."""
    target = CopyBandwidth("very many", fraction=0.5, step="double_all")
    speed = measured(SOLUTION, dataclasses.replace(EXERCISE, targets=(target,)))
    assert [one.decision for one in speed.targets] == ["met"], (speed.notes, speed.targets)
    assert 0.5 < speed.targets[0].value < 1.1


def test_the_bench_has_both_cases_and_the_steps():
    entry = bench_gpu(EXERCISE, lambda text: None)
    for shape in entry["shapes"]:
        assert shape["baseline_bytes"] > shape["bytes"]
    assert [shape["case"] for shape in entry["steps"]] == ["many", "very many"]
    for shape in entry["steps"]:
        assert set(shape["results"]) == {"solution"}
        assert 0 < shape["results"]["solution"]["of_copy"] < 1.3
