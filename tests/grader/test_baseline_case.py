"""A baseline with its own case while others are timed: measured, modelled and benched."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext

import pytest

from common.build.program import Target
from common.core.errors import CourseError
from common.gpu.clocks import Clocks
from grader.answers.compare import Answer
from grader.bench import on_gpu, on_virtual
from grader.building.build import build
from grader.devices.on_gpu import arena
from grader.pipeline.grading import grade
from grader.spec import BASELINE, Exercise, Size, Speedup
from grader.timing.measured.comparison import Side, TimedComparison
from tests.grader.gpu_on_virtual import EngineSession, few_samples, gpu_on_virtual, library, measured
from tests.grader.pooled_exercise import EXERCISE, SOLUTION

CASE = EXERCISE.bench[0]
WIDE = EXERCISE.case_of_baseline(CASE)


pytestmark = pytest.mark.usefixtures(few_samples.__name__)


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "_TURNS", 2)


def whole_only(**changes) -> Exercise:
    """The exercise without its step's target."""
    return dataclasses.replace(EXERCISE, **{"targets": EXERCISE.targets[:1], **changes})


def test_without_a_baseline_case_all_sides_use_the_same_case():
    plain = dataclasses.replace(EXERCISE, baseline_case=None)
    assert plain.elsewhere(CASE) == {}
    assert plain.case_of_baseline(CASE) is CASE
    assert EXERCISE.elsewhere(CASE) == {BASELINE: WIDE}


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
@pytest.mark.parametrize("protocol", ["cold", "graph"])
def test_each_side_finds_its_own_inputs_and_is_checked_against_its_own_answer(protocol):
    with EngineSession(library(EXERCISE.baseline)) as theirs, EngineSession(library(SOLUTION)) as ours:
        sides = {"ours": ours, BASELINE: theirs}
        with TimedComparison(EXERCISE, CASE, protocol, sides, elsewhere=EXERCISE.elsewhere(CASE)) as compared:
            for seed in ("one", "two"):
                compared.refresh(seed)
                for name in sides:
                    compared.run(name, lambda side: side.time())
                    compared.check(name)
            inputs = {name: compared._inputs[name] for name in sides}
            assert inputs["ours"].arena is not inputs[BASELINE].arena
            assert {name: one.size.groups for name, one in inputs.items()} == {
                "ours": CASE.size.groups,
                BASELINE: 2 * CASE.size.groups,
            }
            assert len(inputs["ours"].calls) == len(inputs[BASELINE].calls) == compared.count
            # One's answer does not do for the other.
            compared.run(BASELINE, lambda side: side.time())
            inputs[BASELINE].arena.views(inputs[BASELINE].arena.now(), 0)["out"].zero_()
            with pytest.raises(CourseError, match="baseline is wrong at 64 groups, wide"):
                compared.check(BASELINE)


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
def test_answers_are_computed_once_for_all_who_share_inputs(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []

    def counted(task, size: Size, call) -> Answer:
        seen.append(size.groups)
        return plain(task, size, call)

    plain = arena.answer
    monkeypatch.setattr(arena, "answer", counted)
    with EngineSession(library(SOLUTION)) as one, EngineSession(library(SOLUTION)) as other:
        sides: dict[str, Side] = {"one": one, "other": other, "torch": EXERCISE.reference}
        with TimedComparison(EXERCISE, CASE, "cold", sides) as compared:
            for seed in ("first", "second"):
                compared.refresh(seed)
                for name in ("one", "other"):
                    compared.run(name, lambda side: side.time())
                    compared.check(name)
    assert seen == [CASE.size.groups] * 2


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
@pytest.mark.parametrize("protocol", ["cold", "graph"])
def test_a_ratio_is_over_the_baseline_on_its_own_case(protocol):
    targets = (Speedup((CASE.name,), passing=0.5, full=0.6, least_each=0.1, protocol=protocol),)
    apart = measured(EXERCISE.baseline, whole_only(targets=targets)).cases[0]
    same = measured(EXERCISE.baseline, whole_only(targets=targets, baseline_case=None)).cases[0]
    assert same.ratio == pytest.approx(1.0, rel=0.05)
    assert apart.ratio > same.ratio * 1.3  # twice the groups take it longer
    assert apart.bytes == EXERCISE.moved(CASE)
    assert apart.seconds == pytest.approx(same.seconds, rel=0.05)


def test_a_modelled_baseline_has_its_own_case():
    stages = ("build", "correctness", "speed")
    ratios = []
    for exercise in (EXERCISE, dataclasses.replace(EXERCISE, baseline_case=None)):
        record = grade(exercise, EXERCISE.baseline, submission="x", device="virtual", stages=stages)
        assert record.speed is not None
        ratios.append(record.speed.cases[0].ratio)
    assert ratios[1] == pytest.approx(1.0)
    assert ratios[0] > 1.3


def test_a_modelled_baseline_is_checked_too():
    def wrong_when_wide(size: Size, buffers) -> None:
        EXERCISE.reference(size, buffers)
        if size.groups == WIDE.size.groups:
            buffers["out"].add_(1)

    broken = dataclasses.replace(EXERCISE, reference=wrong_when_wide)
    with pytest.raises(RuntimeError, match="the baseline failed on 64 groups, wide: out"):
        grade(broken, SOLUTION, submission="x", device="virtual", stages=("build", "correctness", "speed"))
    with pytest.raises(CourseError, match="baseline failed at 64 groups, wide: out"):
        on_virtual.bench_virtual(broken, lambda text: None)


def _check_bench(entry: dict) -> None:
    for shape, case in zip(entry["shapes"], EXERCISE.bench, strict=True):
        assert shape["bytes"] == EXERCISE.moved(case)
        assert shape["baseline_bytes"] == EXERCISE.moved(EXERCISE.case_of_baseline(case))
        assert set(shape["results"]) == {"baseline", "solution"}
        assert shape["results"]["solution"]["ratio"] > 0
    (step,) = [shape for shape in entry["steps"] if shape["case"] == "many"]
    assert (step["step"], step["entry"], step["bytes"]) == ("doubled", "double_all", 160_000)
    assert set(step["results"]) == {"solution"}  # the baseline has no such entry
    assert step["results"]["solution"]["seconds"] > 0
    assert "ratio" not in step["results"]["solution"]


def test_the_virtual_bench_has_both_cases_and_the_steps():
    entry = on_virtual.bench_virtual(EXERCISE, lambda text: None)
    _check_bench(entry)
    assert entry["left_out"] == ["doubled: very many"]


@pytest.mark.usefixtures(gpu_on_virtual.__name__)
def test_the_gpu_bench_has_both_cases_and_the_steps(monkeypatch: pytest.MonkeyPatch):
    sources = {"baseline": EXERCISE.baseline, "solution": SOLUTION}
    monkeypatch.setattr(on_gpu, "kernels_of", lambda exercise: sources)
    monkeypatch.setattr(on_gpu, "build", lambda source, target: build(source, Target.virtual("90")))
    monkeypatch.setattr(on_gpu, "first_gpu", lambda: type("Gpu", (), {"cc": "90"}))
    monkeypatch.setattr(on_gpu, "GpuSession", EngineSession)
    monkeypatch.setattr(on_gpu, "exclusive", nullcontext)
    monkeypatch.setattr(on_gpu, "read_clocks", Clocks)
    step = dataclasses.replace(EXERCISE.steps[0], bench=EXERCISE.steps[0].bench[:1])
    entry = on_gpu.bench_gpu(dataclasses.replace(EXERCISE, steps=(step,)), lambda text: None)
    _check_bench(entry)
    assert entry["steps"][0]["results"]["solution"]["of_copy"] > 0
