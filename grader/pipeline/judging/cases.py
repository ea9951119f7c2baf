"""Run every case on fresh inputs and compare all memory with the reference, computed afterwards."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.progress import Notify
from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.report import Report
from grader.answers.compare import Answer, Difference, answer, difference, same_buffers
from grader.answers.made_by import (
    NOT_IN_A_KERNEL,
    changed_bytes,
    not_by_kernels,
    perhaps_not_by_kernels,
)
from grader.answers.nothing_written import why_nothing
from grader.devices.device import Device
from grader.devices.explanations import explain
from grader.devices.on_virtual.given_stream import OFF_STREAM
from grader.devices.on_virtual.session import TOO_MANY_LAUNCHES, WAITS_FOR_HOST
from grader.devices.session import Outcome, Session
from grader.devices.time_budget import TimeBudget
from grader.records.record import CaseResult
from grader.spec import Call, Case, Exact, Task, seeds
from grader.spec.random_inputs import Random

TOO_LONG = "too long"
# Later cases would fail in the same way: they are not run.
FATAL = ("timeout", "limit", "load", TOO_LONG, TOO_MANY_LAUNCHES)
KEPT = "kept answer"
_FOREIGN = "device code that is not in the submitted file"  # as the engine says it
# Reasons that a GPU cannot detect.
SEEN_ON_VIRTUAL = (NOT_IN_A_KERNEL, OFF_STREAM, TOO_MANY_LAUNCHES, WAITS_FOR_HOST)


@dataclass(frozen=True)
class CaseRun:
    """A case's verdict, and the virtual GPU's reports: on its first call, and on all calls."""

    result: CaseResult
    report: Report
    # A right answer changes memory here: an empty kernel would fail, and so would one that refuses every
    # call.
    counts: bool
    outcomes: tuple[Outcome, ...] = ()
    # Why this answer does not count either, if others are not by kernels.
    perhaps_not_by_kernels: str = ""


def all_cases(task: Task, secret: str) -> list[tuple[Case, bool]]:
    """The public cases in their order, then fresh hidden ones; True for public."""
    hidden = task.hidden(Random(seeds.derive(secret, "hidden cases")))
    return [(case, True) for case in task.cases] + [(case, False) for case in hidden]


def cases_on(device: Device, task: Task, secret: str) -> list[tuple[Case, bool]]:
    """Those that are small enough for the device."""
    return [(case, public) for case, public in all_cases(task, secret) if device.runs(case)]


def run_cases(
    task: Task,
    session: Session,
    cases: Sequence[tuple[Case, bool]],
    secret: str,
    *,
    where: str = "cpu",
    phase: str = "correctness",
    notify: Notify = lambda text: None,
    budget: TimeBudget | None = None,
) -> Iterator[CaseRun]:
    """Yields one verdict per case. `where` is the device that holds inputs and expected outputs."""
    ended_by = ""
    budget = budget or TimeBudget()
    for number, (case, public) in enumerate(cases):
        if ended_by:
            yield _failed(case, public, "not run", f"not run, because of what happened at {ended_by}")
            continue
        if budget.unloadable or budget.over:
            ended_by = case.name
            if budget.unloadable:
                yield _failed(case, public, "load", budget.unloadable)
            else:
                yield _failed(case, public, TOO_LONG, budget.why_over(number, len(cases)))
            continue
        started = time.monotonic()
        notify(f"case {number + 1} of {len(cases)}: {case.name}")
        seed = seeds.derive(secret, phase, number)
        other_values = Random(seeds.derive(seed, "other values"), where)
        run = _run_case(task, session, case, public, Random(seed, where), other_values, budget)
        run.result.seconds = time.monotonic() - started
        if run.result.reason == "timeout" and budget.over:  # it may have had less time than others
            run.result.reason, run.result.message = TOO_LONG, budget.why_over(number, len(cases))
        ended_by = case.name if run.result.reason in FATAL else ""
        if run.result.reason == "load":
            budget.unloadable = run.result.message
        yield run


def _failed(case: Case, public: bool, reason: str, message: str) -> CaseRun:
    """A case that was not run."""
    result = CaseResult(case.name, public, dict(case.sizes), False, reason, message, shape=case.shape)
    return CaseRun(result, Report(), counts=True)


def _run_case(
    task: Task,
    session: Session,
    case: Case,
    public: bool,
    rng: Random,
    other_values: Random,
    budget: TimeBudget,
) -> CaseRun:
    """The same call twice, and a third with the same sizes and other values: an answer that was kept from an
    earlier call passes at most two of them."""
    calls = [task.inputs(case.size, rng)] * 2 + [task.inputs(case.size, other_values)]
    outcomes: list[Outcome] = []
    for call in calls:
        outcomes.append(budget.spend(session.run(task.entry, call, budget.for_a_call)))
        if not outcomes[-1].ok:
            break
    # The expected output is computed only now, so that the submission cannot find it while it runs.
    wanted = answer(task, case.size, calls[0])
    reason, message = _judge(task, case, calls[0], outcomes[0], wanted)
    if not reason and len(outcomes) > 1:
        reason, message = _judge_repeat(outcomes[0], outcomes[1])
    if not reason and len(outcomes) > 2:
        reason, message = _judge_anew(task, case, calls[2], outcomes[2], outcomes[0])
        if reason == KEPT and _wrong_by_itself(task, session, case, calls[2], budget):
            reason = "mismatch"
    changed = changed_bytes(calls[0], wanted.outputs)
    result = CaseResult(case.name, public, dict(case.sizes), not reason, reason, message, shape=case.shape)
    report = outcomes[0].report
    return CaseRun(result, report, changed > 0, tuple(outcomes), perhaps_not_by_kernels(report, changed))


def without_answers_of_others(runs: Sequence[CaseRun]) -> list[CaseRun]:
    """Few bytes that the runtime copies or the host sees may be parameters; but not in a submission whose
    answers are made so in another case."""
    if not any(run.result.reason == NOT_IN_A_KERNEL for run in runs):
        return list(runs)
    for run in runs:
        if run.result.passed and run.perhaps_not_by_kernels:
            run.result.passed, run.result.reason = False, NOT_IN_A_KERNEL
            run.result.message = run.perhaps_not_by_kernels
    return list(runs)


def not_by_code_of_the_file(run: CaseRun) -> CaseRun:
    """Of a case that passed on the GPU and not on the virtual GPU: not in a kernel, where the virtual GPU saw
    that the GPU ran device code which nvcc did not compile from the file. It runs none, and says so; a call
    that does not ask for its errors launches nothing there, and returns all the same."""
    launched = any(outcome.report.launches for outcome in run.outcomes)
    refused = run.result.reason == "error" and _FOREIGN in run.result.message
    nothing = run.result.reason == "mismatch" and run.counts and not launched
    if not (refused or nothing):
        return run
    message = (
        f"right on the GPU, but no kernel of the file made it so. On the virtual GPU: {run.result.message}"
    )
    result = dataclasses.replace(run.result, reason=NOT_IN_A_KERNEL, message=message)
    return dataclasses.replace(run, result=result)


def _judge(
    task: Task, case: Case, call: Call, outcome: Outcome, wanted: Answer | None = None
) -> tuple[str, str]:
    """A reason and a sentence when the call failed or its answer is wrong, else two empty strings."""
    if not outcome.ok:
        return explain(outcome)
    wanted = wanted or answer(task, case.size, call)
    found: Difference | None = difference(task, case.size, call, wanted, outcome.after)
    if found is not None:
        why = why_nothing(outcome.report, task.entry, found.unwritten) if found.unwritten else ""
        unwritten = f". {why}" if why else ""
        return found.reason, found.message + unwritten + outcome.hint + _reason_seen(outcome.report)
    lack = not_by_kernels(outcome.report, changed_bytes(call, wanted.outputs))
    return (NOT_IN_A_KERNEL, lack) if lack else ("", "")


def _reason_seen(report: Report) -> str:
    """The first cause among the findings of a call with a wrong answer."""
    if not report.findings:
        return ""
    finding = by_cause(report.findings)[0].finding
    return f". The virtual GPU saw this: {finding.message} ({Path(finding.file).name}:{finding.line})"


def _judge_repeat(first: Outcome, second: Outcome) -> tuple[str, str]:
    if not second.ok:
        reason, message = explain(second)
        return reason, f"the first call was right, but a second one with the same inputs failed: {message}"
    if not same_buffers(first.after, second.after):
        return "not repeatable", (
            "a second call with the same inputs gave another answer: something is read before it is written, "
            "or kept from the call before"
        )
    return "", ""


def _judge_anew(task: Task, case: Case, call: Call, outcome: Outcome, first: Outcome) -> tuple[str, str]:
    reason, message = _judge(task, case, call, outcome)
    if not reason:
        return "", ""
    explained = f"right at first, but not in a later call with the same sizes and other values: {message}"
    # Where the comparison has a tolerance, a kernel near its limit is right once and wrong the next time.
    near = not isinstance(task.compare, Exact)
    if reason != "mismatch":
        return reason, explained
    kept = any(same_buffers({"": outcome.after[name]}, {"": first.after[name]}) for name in call.outputs)
    return (KEPT if kept or not near else reason), explained


def _wrong_by_itself(task: Task, session: Session, case: Case, call: Call, budget: TimeBudget) -> bool:
    """Whether a fresh worker gives a wrong answer as well: then no answer was kept from an earlier call. A
    mistake that few values show, such as ties, is right at first by chance."""
    session.close()
    outcome = budget.spend(session.run(task.entry, call, budget.for_a_call))
    return bool(_judge(task, case, call, outcome)[0])
