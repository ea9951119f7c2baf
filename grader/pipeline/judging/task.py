"""Runs, checks and examines one entry point: the exercise's own, or a step's."""

from __future__ import annotations

from collections.abc import Sequence

from common.virtual_gpu.report import Report
from grader.building.libraries import Libraries
from grader.devices.evidence import look
from grader.devices.session import Outcome
from grader.devices.time_budget import CALL_SECONDS
from grader.pipeline.context import Context
from grader.pipeline.events import CaseDone
from grader.pipeline.judging.cases import (
    CaseRun,
    cases_on,
    not_by_code_of_the_file,
    run_cases,
    without_answers_of_others,
)
from grader.pipeline.judging.launchable import without_refused_launches
from grader.pipeline.judging.mechanisms import look_everywhere
from grader.records.record import MechanismResult
from grader.spec import Case, Mechanism, Task, seeds
from grader.spec.random_inputs import Random

_HIDDEN_LOOKS = 3


def run_task(
    task: Task, program: object, context: Context, secret: str, step: str = ""
) -> tuple[list[CaseRun], str]:
    """Every case on the context's device, and the program's output. Events carry the `step`'s name."""
    device, runs = context.device, []
    cases = cases_on(device, task, secret)
    with device.session(program) as session:
        for run in run_cases(
            task,
            session,
            cases,
            secret,
            where=device.tensors_on,
            notify=context.notify,
            budget=context.budget,
        ):
            runs.append(run)
            context.on_event(CaseDone(step, run.result, run.report.findings))
            if context.quick and not run.result.passed:
                break
        runs, output = without_answers_of_others(runs), session.output
    if device.modelled and isinstance(program, Libraries):
        runs = without_refused_launches(runs, program.resources)
    return runs, output


def all_right(runs: Sequence[CaseRun]) -> bool:
    return bool(runs) and all(run.result.passed for run in runs)


def check_on_virtual(
    task: Task,
    program: Libraries,
    context: Context,
    secret: str,
    timed: Sequence[Case] = (),
    *,
    right: bool = True,  # whether the GPU's answers are
) -> list[CaseRun]:
    """Run the public cases again on the virtual GPU, which reports findings, for a task that ran on a GPU;
    and those of the `timed` ones that it can run, so that no kernel is checked at some sizes and timed at
    others."""
    device = context.device.virtual
    public = [(case, public) for case, public in cases_on(device, task, secret) if public]
    public += [(case, True) for case in timed if device.runs(case)]
    with device.session(program) as session:
        budget = device.time_budget()
        runs = run_cases(task, session, public, secret, phase="checks", notify=context.notify, budget=budget)
        seen = [not_by_code_of_the_file(run) if right else run for run in runs]
        return without_answers_of_others(seen)


def check_between_blocks(task: Task, case: Case, program: Libraries, context: Context, secret: str) -> Report:
    """The virtual GPU's report on one call, with the check for races between blocks on."""
    context.notify("looking for races between blocks")
    call = task.inputs(case.size, Random(seeds.derive(secret, "between blocks")))
    with context.device.virtual.session_between_blocks(program) as session:
        return session.run(task.entry, call, CALL_SECONDS).report


def look_at(
    task: Task,
    mechanisms: Sequence[Mechanism],
    public: Sequence[Case],
    program: Libraries,
    context: Context,
    secret: str,
    runs: Sequence[CaseRun] = (),
) -> tuple[list[MechanismResult], Outcome]:
    """Look for mechanisms in hidden cases and in the `public` ones: a kernel cannot know which calls are
    examined. Mechanisms that are cheap to see are looked for in every call of `runs`, too. Returns what the
    last call did, as well."""
    device = context.device.virtual
    hidden = [case for case, is_public in cases_on(device, task, secret) if not is_public]
    results = []
    with device.session_with_figures(program) as session:
        for number, case in enumerate((*hidden[:_HIDDEN_LOOKS], *public)):
            call = task.inputs(case.size, Random(seeds.derive(secret, "mechanism", number)))
            outcome = session.run(task.entry, call, CALL_SECONDS)
            results.append(look(mechanisms, case, outcome, program.resources))
    # Public cases come last: of several failing cases, a student can repeat one of these.
    worst = [
        next((one for one in reversed(ones) if not one.passed), ones[-1])
        for ones in zip(*results, strict=True)
    ]
    return look_everywhere(mechanisms, worst, task, runs, program.resources), outcome
