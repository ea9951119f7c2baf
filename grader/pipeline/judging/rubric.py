"""Points by the exercise's rubric."""

from __future__ import annotations

from collections.abc import Sequence

from common.virtual_gpu.finding import Finding
from grader.devices.arguments import NOT_REFUSED
from grader.devices.on_virtual.session import TOO_MANY_LAUNCHES
from grader.pipeline.judging.cases import TOO_LONG, CaseRun
from grader.pipeline.judging.findings import in_words
from grader.records.record import NOT_AS_ASKED, CaseResult, MechanismResult, PartResult, Record, Speed
from grader.spec import Exercise, Step

NEEDS_CORRECT = "counts once every case is right"
MISSING = "missing"  # the reason of a step whose entry point is not there yet

# A failed case's reason, as a verdict. "input changed" and "not repeatable" are verdicts already.
_VERDICTS = {
    "mismatch": "wrong answer",
    "timeout": "does not end",
    "crash": "crashes",
    "error": "returns an error",
    NOT_REFUSED: "accepts what it must refuse",
    "limit": "takes too much",
    TOO_MANY_LAUNCHES: "takes too much",
    TOO_LONG: "takes too long",
    "call": "meddles with the worker",
    "entry": "has no such entry point",
    "load": "cannot be loaded",
    "raises": "raises an exception",
    MISSING: "has no such entry point yet",
    "device": "breaks the virtual GPU",
}


def correct_part(exercise: Exercise, runs: Sequence[CaseRun], worth: float | None = None) -> PartResult:
    """Points for the lesser of the shares of public and hidden cases that pass. A case that an empty kernel
    passes earns nothing, but failing it costs points."""
    worth = exercise.points.correct if worth is None else worth
    shares = []
    for public in (True, False):
        group = [run for run in runs if run.result.public is public]
        counting = [run for run in group if run.counts or not run.result.passed]
        if counting:
            shares.append(sum(run.result.passed for run in counting) / len(counting))
    share = min(shares, default=0.0)
    failed = [run.result for run in runs if not run.result.passed]
    message = f"{len(runs) - len(failed)} of {len(runs)} cases passed"
    if failed:
        message += f"; {failed[0].as_first_failure}: {failed[0].message}"
    return PartResult("correct", round(worth * share, 2), worth, message)


def clean_part(
    exercise: Exercise, correct: bool, findings: Sequence[Finding], unchecked: str = ""
) -> PartResult:
    worth = exercise.points.clean
    if not correct:
        return PartResult("clean", 0.0, worth, NEEDS_CORRECT)
    if unchecked:
        return PartResult("clean", 0.0, worth, unchecked)
    if findings:
        return PartResult("clean", 0.0, worth, in_words(findings))
    return PartResult("clean", worth, worth, "no findings")


def mechanism_part(exercise: Exercise, correct: bool, results: Sequence[MechanismResult]) -> PartResult:
    worth = exercise.points.mechanism
    if not correct:
        return PartResult("mechanism", 0.0, worth, NEEDS_CORRECT)
    there = sum(result.passed for result in results)
    lacking = [result.message for result in results if not result.passed]
    points = worth * there / len(results) if results else worth
    return PartResult("mechanism", round(points, 2), worth, lacking[0] if lacking else "all there")


def speed_part(exercise: Exercise, correct: bool, speed: Speed | None) -> PartResult:
    worth = exercise.points.speed
    if not correct:
        return PartResult("speed", 0.0, worth, NEEDS_CORRECT)
    if speed is None or not speed.targets:
        why = "; ".join(speed.notes) if speed else "not measured"
        return PartResult("speed", 0.0, worth, why)
    shares = sum(target.share for target in speed.targets)
    earned = sum(target.share * target.earned for target in speed.targets) / shares
    return PartResult("speed", round(worth * earned, 2), worth, speed.targets[0].message)


def step_part(
    step: Step,
    cases: Sequence[CaseResult],
    findings: Sequence[Finding],
    mechanisms: Sequence[MechanismResult],
) -> PartResult:
    """All of the step's points or none: an exercise's points are split into steps, and no further."""
    failed = [case for case in cases if not case.passed]
    lacking = [result.message for result in mechanisms if not result.passed]
    if failed and failed[0].reason == MISSING:
        return PartResult(step.name, 0.0, step.points, failed[0].message)
    if failed or not cases:
        passed = f"{len(cases) - len(failed)} of {len(cases)} cases passed"
        first = f"; {failed[0].as_first_failure}: {failed[0].message}" if failed else ""
        return PartResult(step.name, 0.0, step.points, passed + first)
    if findings:
        return PartResult(step.name, 0.0, step.points, f"right, but with {in_words(findings)}")
    if lacking:
        return PartResult(step.name, 0.0, step.points, NOT_AS_ASKED + lacking[0])
    return PartResult(step.name, step.points, step.points, f"all {len(cases)} cases passed, no findings")


def verdict(record: Record, exercise: Exercise) -> str:
    """A few words that follow from cases, points and speed."""
    failed = next((case for case in record.deciding_cases if not case.passed), None)
    if failed is not None:
        return _VERDICTS.get(failed.reason, failed.reason)
    if record.points >= record.max_points:
        return "full marks"
    short = {part.name: part for part in record.parts if part.points < part.max_points}
    for name, words in (("clean", "correct, with findings"), ("mechanism", "correct, not as asked")):
        if name in short:
            return words
    if "speed" not in short:
        steps = any(step.name in short for step in exercise.steps)
        return "correct, steps missing" if steps else f"correct, {next(iter(short))} missing"
    if record.speed is None or not record.speed.targets:
        return "correct, speed not measured"
    return "correct, too slow" if short["speed"].points == 0 else "correct, not at full speed"
