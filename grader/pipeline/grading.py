"""One submission from source to record. Whatever a submission does, a record comes of it."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from common.build.toolchain import find_nvcc
from common.core.background import begin
from common.gpu.devices import first_gpu
from common.virtual_gpu.engine import DEFAULT_PROFILE
from common.virtual_gpu.report import Finding, Report
from grader.devices.time_budget import TimeBudget
from grader.pipeline.libraries import Libraries, compile_submission
from grader.pipeline.printed import told_once
from grader.pipeline.scratch_folder import scratch_folder
from grader.pipeline.stages import checks, points
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.correctness import FATAL, SEEN_ON_VIRTUAL, CaseRun, gpu_only_cases
from grader.pipeline.stages.events import BuildDone, Hear, InOrder, TaskDone, nobody
from grader.pipeline.stages.mechanism import mechanism_case
from grader.pipeline.stages.signature import mismatch
from grader.pipeline.stages.steps import GradedStep, grade_step
from grader.pipeline.stages.task import Tell, check_between_blocks, check_on_virtual, look_at, run_on
from grader.pipeline.suspicion import flags_of
from grader.python_track.grading import grade_python, worth
from grader.records.record import CaseResult, DeviceInfo, PartResult, Record
from grader.spec import Exercise, Step, Task, seeds
from grader.spec.random_inputs import Random

STAGES = ("build", "correctness", "checks", "mechanism", "speed")
_MOST_SOURCE = 1 << 20


def grade(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: str,
    seed: str | None = None,
    stages: Collection[str] | None = None,
    quick: bool = False,
    step: int | None = None,
    tell: Tell = lambda text: None,
    hear: Hear = nobody,
) -> Record:
    """Grade one file on `device` ("virtual" or "gpu"). With `quick`, the first failing case is the last, and
    steps are graded beside each other; with `step`, that step alone, counted from 1. `hear` is told of
    results as they come."""
    started = time.monotonic()
    text = source.read_bytes()[:_MOST_SOURCE]
    record = Record(
        submission=submission,
        exercise=exercise.id,
        device=device_info(device),
        source=text.decode(errors="replace"),
        file="kernel.py" if source.suffix == ".py" else "kernel.cu",
        source_sha256=hashlib.sha256(text).hexdigest(),
        seed=seed or seeds.fresh(),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    only = None if step is None else exercise.steps[step - 1]
    wanted = set(stages or STAGES)
    with scratch_folder() as scratch:
        building = None
        if source.suffix != ".py":
            tell("building")
            building = begin(_build, source, device, scratch / "submission", hear)
        _import_torch()  # takes seconds, in which the compilers have the other core
        _name_left_out(exercise, only, record)
        if building is None:
            runs = grade_python(exercise, source, record, wanted, quick, scratch, tell)
            _count_wrong_while_timed(exercise, record, runs, worth(exercise, record.source))
        else:
            _grade(exercise, source, building.result(), record, wanted, quick, only, scratch, tell, hear)
    record.output = told_once(record.output)
    points.settle(record)
    record.seconds = time.monotonic() - started
    return record


def _build(source: Path, device: str, scratch: Path, hear: Hear) -> Libraries:
    """Compile, and say at once what came of it, whatever else is still to be loaded."""
    built = compile_submission(source, device, scratch)
    hear(BuildDone(built.failed is None, built.seconds, _diagnostics(built)))
    return built


def _diagnostics(built: Libraries) -> list[dict[str, Any]]:
    return (built.failed or built.built["virtual"]).plain()


def _import_torch() -> None:
    """Tensors here are small: threads would wait for each other, and for whoever else grades on this
    machine."""
    import torch

    torch.set_num_threads(1)


def _name_left_out(exercise: Exercise, only: Step | None, record: Record) -> None:
    if record.device.kind == "virtual":
        tasks: Sequence[Task] = (*exercise.steps, exercise) if only is None else (only,)
        record.left_out = [name for task in tasks for name in gpu_only_cases(task, record.seed)]


def device_info(device: str) -> DeviceInfo:
    compiler = f"nvcc {find_nvcc().version}"
    if device == "virtual":
        return DeviceInfo("virtual", DEFAULT_PROFILE, compiler=compiler)
    gpu = first_gpu()
    return DeviceInfo("gpu", gpu.name, gpu.driver, compiler)


def _grade(
    exercise: Exercise,
    source: Path,
    built: Libraries,
    record: Record,
    stages: set[str],
    quick: bool,
    only: Step | None,
    scratch: Path,
    tell: Tell,
    hear: Hear,
) -> None:
    device = record.device.kind
    record.diagnostics = _diagnostics(built)
    if (failed := built.failed) is not None:
        _not_built(exercise, failed, record, only)
        return
    record.diagnostics += _signatures(exercise, source, record)
    # The baseline is needed later, and may be built meanwhile; but no compiler's message waits for it.
    baseline = None
    if "speed" in stages and only is None:
        baseline = begin(compile_submission, exercise.baseline, device, scratch / "baseline")
    record.flags += flags_of(built.path("virtual"))
    steps = exercise.steps if only is None else (only,)
    graded, whole = _run_tasks(exercise, steps, only is None, built, record, quick, tell, hear)
    reports: list[Report] = []
    for step in graded:
        record.output += step.printed
        record.cases += step.cases
        record.parts.append(step.part)
        reports += step.reports
    if whole is None:
        record.findings = _plain(checks.merge(reports))
        return
    runs, printed = whole
    record.output += printed
    record.cases += [run.result for run in runs]
    correct = bool(runs) and all(run.result.passed for run in runs)
    record.parts.append(points.correct_part(exercise, runs))
    looked_at = runs
    if "checks" in stages:
        correct, looked_at = _checks(exercise, built, record, runs, reports, correct, tell)
    if "mechanism" in stages and not any(run.result.reason in FATAL for run in runs):
        _mechanism(exercise, built, record, correct, looked_at, tell)
    elif "mechanism" in stages:
        record.parts.append(points.mechanism_part(exercise, False, ()))
    if baseline is not None:
        if correct:
            _speed(exercise, baseline.result(), built, record, tell, quick=quick)
        record.parts.append(points.speed_part(exercise, correct, record.speed))
        _count_wrong_while_timed(exercise, record, runs)


def _run_tasks(
    exercise: Exercise,
    steps: Sequence[Step],
    with_whole: bool,
    built: Libraries,
    record: Record,
    quick: bool,
    tell: Tell,
    hear: Hear,
) -> tuple[list[GradedStep], tuple[list[CaseRun], str] | None]:
    """The cases of all steps and of the whole. They are of no concern to each other, so that somebody who
    waits for them has them run beside each other: while one waits for the engine, another computes."""
    device = record.device.kind
    budget = TimeBudget.on(device)
    in_order = InOrder(hear, len(steps) + with_whole)
    side_by_side = len(os.sched_getaffinity(0)) if quick and device == "virtual" else 1

    def grade_one(number: int) -> GradedStep:
        heard = in_order.task(number)
        return grade_step(
            *(steps[number], built, record.seed, device),
            quick=quick,
            tell=tell,
            budget=budget,
            hear=heard,
        )

    def run_whole() -> tuple[list[CaseRun], str]:
        heard = in_order.task(len(steps))
        return run_on(
            *(device, exercise, built, record.seed), quick=quick, tell=tell, budget=budget, hear=heard
        )

    with ThreadPoolExecutor(side_by_side) as pool:
        # The whole takes longest and so begins early, where it does not keep the first step waiting.
        first = 1 if side_by_side > 1 else len(steps)
        grading = [pool.submit(grade_one, number) for number in range(len(steps))[:first]]
        running = pool.submit(run_whole) if with_whole else None
        grading += [pool.submit(grade_one, number) for number in range(len(steps))[first:]]
        graded = [step.result() for step in grading]
        if running is None:
            return graded, None
        runs, printed = running.result()
        hear(TaskDone("", [run.result for run in runs]))
        return graded, (runs, printed)


def _signatures(exercise: Exercise, source: Path, record: Record) -> list[dict[str, Any]]:
    """Warnings about entry points that take something else than they are given."""
    tasks: tuple[Task, ...] = (*exercise.steps, exercise)
    found = []
    for task in tasks:
        call = task.inputs(task.cases[0].size, Random(record.seed))
        found.append(mismatch(source, record.source, task.entry, call.arguments))
    return [dataclasses.asdict(warning) for warning in found if warning is not None]


def _not_built(exercise: Exercise, failed: Built, record: Record, only: Step | None) -> None:
    record.verdict = "does not compile"
    lost = exercise.rubric if only is None else {only.name: only.points}
    told = "correct" if only is None else only.name
    for name, most in lost.items():
        message = failed.message if name == told else "needs a kernel that compiles"
        record.parts.append(PartResult(name, 0.0, most, message))


def _count_wrong_while_timed(
    exercise: Exercise, record: Record, runs: list[CaseRun], most: float | None = None
) -> None:
    """A case that is wrong only where it is timed is as wrong as any other. Steps keep what they earned."""
    if record.speed is None or not record.speed.wrong:
        return
    for name, message in record.speed.wrong.items():
        sizes = dict(exercise.bench_case(name).sizes)
        record.cases.append(CaseResult(name, True, sizes, False, "mismatch", message))
        runs = [*runs, CaseRun(record.cases[-1], Report(), counts=True)]
    steps = [part for part in record.parts if part.name not in points.PARTS]
    later = [
        PartResult(part.name, 0.0, part.max_points, points.NEEDS_CORRECT)
        for part in record.parts
        if part.name in points.PARTS and part.name != "correct"
    ]
    record.parts = [*steps, points.correct_part(exercise, runs, most), *later]


def _checks(
    exercise: Exercise,
    built: Libraries,
    record: Record,
    runs: list[CaseRun],
    steps: list[Report],
    correct: bool,
    tell: Tell,
) -> tuple[bool, list[CaseRun]]:
    """Findings come from the virtual GPU: of the cases just run there, or of the public ones run again. Those
    of the steps are shown with them, but cost the steps alone.

    Whether the answers still count as correct: that they came from kernels, on the stream that was given,
    only shows there. And the runs on the virtual GPU.
    """
    if record.device.kind == "gpu":
        runs = check_on_virtual(exercise, built, record.seed, tell)
        if elsewhere := [run.result for run in runs if run.result.reason in SEEN_ON_VIRTUAL]:
            correct = False
            record.cases += elsewhere
            counted = points.correct_part(exercise, [run for run in runs if run.counts])
            record.parts = [part if part.name != "correct" else counted for part in record.parts]
    reports = [run.report for run in runs]
    if exercise.blocks_share and correct:
        tell("looking at what blocks leave each other")
        reports.append(
            check_between_blocks(exercise, exercise.case(exercise.blocks_share), built, record.seed)
        )
    findings = checks.merge(reports)
    record.findings = _plain(checks.merge([*steps, *reports]))
    unsupported = next((f for f in findings if f.kind == "unsupported"), None)
    record.parts.append(
        points.clean_part(
            exercise,
            correct,
            len(findings),
            f"the virtual GPU cannot check this kernel: {unsupported.message}" if unsupported else "",
        )
    )
    return correct, runs


def _mechanism(
    exercise: Exercise, built: Libraries, record: Record, correct: bool, runs: Sequence[CaseRun], tell: Tell
) -> None:
    """`runs` are those on the virtual GPU."""
    tell("looking at how it works")
    record.mechanisms, outcome = look_at(
        exercise, exercise.mechanisms, mechanism_case(exercise), built, record.seed, runs
    )
    record.launches = [dataclasses.asdict(launch) for launch in outcome.report.launches]
    record.lines = [line for launch in record.launches for line in launch.pop("lines")]
    record.parts.append(points.mechanism_part(exercise, correct, record.mechanisms))


def _speed(
    exercise: Exercise, baseline: Libraries, built: Libraries, record: Record, tell: Tell, *, quick: bool
) -> None:
    if record.device.kind == "gpu":
        from grader.devices.gpu import GpuSession
        from grader.pipeline.stages.speed_gpu import measure

        ours = GpuSession(built.path("gpu"))
        record.speed = measure(exercise, baseline.path("gpu"), ours, record.seed, tell)
        return
    from grader.pipeline.stages.speed_virtual import model

    record.speed = model(
        exercise,
        (baseline.path("virtual"), baseline.registers),
        (built.path("virtual"), built.registers),
        built.resources,
        record.seed,
        tell,
        quick=quick,
    )


def _plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = Report(findings=tuple(findings)).to_dict()["findings"]
    return plain
