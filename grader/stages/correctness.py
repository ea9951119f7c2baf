"""Run every case on fresh inputs and compare all memory with the reference, computed afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.virtual_gpu.report import Finding, Report
from grader import seeds
from grader.compare import Difference, answer, bits, difference, expected, same_buffers
from grader.device import Outcome, Session
from grader.random_inputs import Random
from grader.record import CaseResult
from grader.spec import Call, Case, Task

if TYPE_CHECKING:
    import torch

CALL_SECONDS = 20.0
FATAL = ("timeout", "limit", "load")  # what one case takes, each would: the rest is not waited for
NOT_IN_A_KERNEL = "not in a kernel"
_COPIED_SHARE = 8  # the runtime may copy an eighth of what changes, or a few parameters
_COPIED_FREELY = 4096  # bytes
_REASON_OF_KIND = {"hang": "timeout", "trap": "crash"}


@dataclass(frozen=True)
class CaseRun:
    """A case's verdict, and what the virtual GPU saw of it."""

    result: CaseResult
    report: Report
    # A right answer changes memory here: doing nothing would not pass, nor would refusing everything.
    counts: bool


def all_cases(task: Task, secret: str, *, gpu: bool) -> list[tuple[Case, bool]]:
    """The public cases in their order, then fresh hidden ones; True for public."""
    hidden = task.hidden(Random(seeds.derive(secret, "hidden cases")))
    both = [(case, True) for case in task.cases] + [(case, False) for case in hidden]
    return [(case, public) for case, public in both if gpu or not case.gpu_only]


def run_cases(
    task: Task,
    session: Session,
    cases: Sequence[tuple[Case, bool]],
    secret: str,
    *,
    where: str = "cpu",
    phase: str = "correctness",
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[CaseRun]:
    """One verdict a case, as they come. `where` is the device that holds inputs and expectations."""
    ended_by = ""
    for number, (case, public) in enumerate(cases):
        if ended_by:
            yield CaseRun(_not_run(case, public, ended_by), Report(), counts=True)
            continue
        started = time.monotonic()
        tell(f"case {number + 1} of {len(cases)}: {case.name}")
        seed = seeds.derive(secret, phase, number)
        other_values = Random(seeds.derive(seed, "other values"), where)
        run = _run_case(task, session, case, public, Random(seed, where), other_values)
        run.result.seconds = time.monotonic() - started
        ended_by = case.name if run.result.reason in FATAL else ""
        yield run


def _not_run(case: Case, public: bool, ended_by: str) -> CaseResult:
    message = f"not run, because of what happened at {ended_by}"
    return CaseResult(case.name, public, dict(case.sizes), False, "not run", message)


def _run_case(
    task: Task, session: Session, case: Case, public: bool, rng: Random, other_values: Random
) -> CaseRun:
    """The same call twice, and a third with the same sizes and other values: an answer that was kept from an
    earlier call passes at most two of them."""
    calls = [task.inputs(case.size, rng)] * 2 + [task.inputs(case.size, other_values)]
    outcomes: list[Outcome] = []
    for call in calls:
        outcomes.append(session.run(task.entry, call, CALL_SECONDS))
        if not outcomes[-1].ok:
            break
    # Only now is an expectation computed: while the submission runs there is none to look for.
    reason, message = _judge(task, case, calls[0], outcomes[0])
    if not reason and len(outcomes) > 1:
        reason, message = _judge_repeat(outcomes[0], outcomes[1])
    if not reason and len(outcomes) > 2:
        reason, message = _judge_anew(task, case, calls[2], outcomes[2])
    counts = _changed_bytes(calls[0], expected(task, case.size, calls[0])) > 0
    result = CaseResult(case.name, public, dict(case.sizes), not reason, reason, message)
    return CaseRun(result, outcomes[0].report, counts)


def _judge(task: Task, case: Case, call: Call, outcome: Outcome) -> tuple[str, str]:
    """A word and a sentence when the call failed or its answer is wrong, else two empty ones."""
    if not outcome.ok:
        return _explain(outcome)
    wanted = answer(task, case.size, call)
    found: Difference | None = difference(task, case.size, call, wanted, outcome.after)
    if found is not None:
        return found.reason, found.message + _reason_seen(outcome.report)
    return _judge_kernels(outcome.report, _changed_bytes(call, wanted.outputs))


def _reason_seen(report: Report) -> str:
    """The first finding of a call with a wrong answer, which is most often the reason for it."""
    if not report.findings:
        return ""
    finding = report.findings[0]
    return f". The virtual GPU saw this: {finding.message} ({finding.file}:{finding.line})"


def _judge_repeat(first: Outcome, second: Outcome) -> tuple[str, str]:
    if not second.ok:
        reason, message = _explain(second)
        return reason, f"the first call was right, but a second one with the same inputs failed: {message}"
    if not same_buffers(first.after, second.after):
        return "not repeatable", (
            "a second call with the same inputs gave another answer: something is read before it is written, "
            "or kept from the call before"
        )
    return "", ""


def _judge_anew(task: Task, case: Case, call: Call, outcome: Outcome) -> tuple[str, str]:
    reason, message = _judge(task, case, call, outcome)
    if not reason:
        return "", ""
    told = f"right at first, but not in a later call with the same sizes and other values: {message}"
    return ("kept answer" if reason == "mismatch" else reason), told


def _judge_kernels(report: Report, changed: int) -> tuple[str, str]:
    """Right answers count when kernels wrote them: the runtime's own copies are no solution, and stores
    elsewhere beside such copies prove nothing.

    Only the virtual GPU can tell; elsewhere a report is empty and says nothing.
    """
    if not report.profile or changed == 0:
        return "", ""
    stored = sum(
        launch.counters.global_store_bytes + launch.counters.global_atomic_bytes for launch in report.launches
    )
    copied = report.totals.get("copied_bytes", 0)
    by_runtime = copied + report.totals.get("filled_bytes", 0)
    few_copies = copied <= max(changed // _COPIED_SHARE, _COPIED_FREELY)
    if report.launches and (by_runtime == 0 or (stored >= changed and few_copies)):
        return "", ""
    return NOT_IN_A_KERNEL, (
        f"kernels stored {stored:,} bytes of the {changed:,} that changed, cudaMemcpy and cudaMemset moved "
        f"{by_runtime:,}: write the answer in a kernel"
    )


def _changed_bytes(call: Call, wanted: Mapping[str, torch.Tensor]) -> int:
    """How many bytes of the outputs a right answer changes, counted in whole elements."""
    return sum(
        int((bits(wanted[name]) != bits(call.buffers[name])).sum()) * call.buffers[name].element_size()
        for name in call.outputs
    )


def _explain(outcome: Outcome) -> tuple[str, str]:
    """The word and the sentence for a call that failed; the device's own finding says it best."""
    finding = _cause(outcome.report.findings)
    if finding is None:
        return outcome.reason, outcome.message
    place = f" ({finding.file}:{finding.line})" if finding.file else ""
    return _REASON_OF_KIND.get(finding.kind, outcome.reason), f"{outcome.message}: {finding.message}{place}"


def _cause(findings: Sequence[Finding]) -> Finding | None:
    for kinds in (("hang", "trap", "unsupported", "host"), ("memory", "sync")):
        for finding in findings:
            if finding.kind in kinds:
                return finding
    return None
