"""What is done with every entry point, be it the exercise's own or a step's: run, checked, looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from common.virtual_gpu.report import Report
from grader.devices.session import Outcome, Session
from grader.devices.time_budget import CALL_SECONDS, TimeBudget
from grader.pipeline.stages.correctness import CaseRun, all_cases, run_cases, without_copied
from grader.pipeline.stages.events import CaseDone, Hear, nobody
from grader.pipeline.stages.mechanism import look, look_everywhere
from grader.records.record import MechanismResult
from grader.spec import Case, Mechanism, Task, seeds
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    from grader.pipeline.libraries import Libraries


class Sessions(Protocol):
    """A submission that can be run on a device."""

    def session(self, device: str) -> Session: ...


_HIDDEN_LOOKS = 3
Tell = Callable[[str], None]


def run_on(
    device: str,
    task: Task,
    built: Sessions,
    secret: str,
    *,
    quick: bool,
    tell: Tell,
    budget: TimeBudget | None = None,
    hear: Hear = nobody,
    step: str = "",
) -> tuple[list[CaseRun], str]:
    """Every case on `device`, and what the library printed. With `quick`, the first failure is the last.
    Whoever hears of the cases is given the name of the `step`."""
    on_gpu = device == "gpu"
    cases = all_cases(task, secret, gpu=on_gpu)
    runs = []
    with built.session(device) as session:
        where = "cuda" if on_gpu else "cpu"
        for run in run_cases(task, session, cases, secret, where=where, tell=tell, budget=budget):
            runs.append(run)
            hear(CaseDone(step, run.result, run.report.findings))
            if quick and not run.result.passed:
                break
        return without_copied(runs), session.output


def check_on_virtual(task: Task, built: Libraries, secret: str, tell: Tell) -> list[CaseRun]:
    """The public cases once more where findings are seen, for a task that ran on a GPU."""
    public = [(case, public) for case, public in all_cases(task, secret, gpu=False) if public]
    with built.session("virtual") as session:
        budget = TimeBudget.on("virtual")
        return list(run_cases(task, session, public, secret, phase="checks", tell=tell, budget=budget))


def check_between_blocks(task: Task, case: Case, built: Libraries, secret: str) -> Report:
    """What the virtual GPU has to say of one call when it looks at what blocks leave each other."""
    call = task.inputs(case.size, Random(seeds.derive(secret, "between blocks")))
    with built.session_between_blocks() as session:
        return session.run(task.entry, call, CALL_SECONDS).report


def look_at(
    task: Task,
    mechanisms: Sequence[Mechanism],
    public: Case,
    built: Libraries,
    secret: str,
    runs: Sequence[CaseRun] = (),
) -> tuple[list[MechanismResult], Outcome]:
    """At hidden cases and at the `public` one: a kernel cannot know where it will be looked at. What is cheap
    to see is looked for in every call of `runs` on the virtual GPU, too."""
    hidden = [case for case, is_public in all_cases(task, secret, gpu=False) if not is_public]
    results = []
    with built.session_with_figures() as session:
        for number, case in enumerate((*hidden[:_HIDDEN_LOOKS], public)):
            call = task.inputs(case.size, Random(seeds.derive(secret, "mechanism", number)))
            outcome = session.run(task.entry, call, CALL_SECONDS)
            results.append(look(mechanisms, case, outcome, built.resources))
    # The public case last: of several that lack something, it is the one a student can repeat.
    worst = [
        next((one for one in reversed(ones) if not one.passed), ones[-1])
        for ones in zip(*results, strict=True)
    ]
    return look_everywhere(mechanisms, worst, task, runs, built.resources), outcome
