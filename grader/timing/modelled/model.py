"""Speed without a GPU: modelled times of the baseline and the submission, always labelled modelled."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from common.core.cpu_time import COUNTED
from common.core.errors import MachineOverloaded
from common.core.progress import Notify
from common.virtual_gpu.report import BoundedCall, Launch, Report
from grader.answers.compare import answer, difference
from grader.answers.made_by import NOT_IN_A_KERNEL, changed_bytes, not_by_kernels
from grader.building.libraries import Libraries
from grader.devices.device import VirtualDevice
from grader.devices.evidence import look
from grader.devices.explanations import explain
from grader.devices.on_virtual.session import TIMING, VirtualSession
from grader.devices.session import Outcome
from grader.devices.time_budget import CALL_SECONDS
from grader.records.record import Speed, SpeedCase
from grader.spec import Call, Case, Exercise, Speedup, TimingProtocol, seeds
from grader.spec.random_inputs import Random
from grader.timing.modelled import graph_trial
from grader.timing.modelled.baselines import measured_baseline
from grader.timing.modelled.call_time import modelled_call
from grader.timing.modelled.margin import LEAST, model_margin, was_compared
from grader.timing.modelled.unmodelled import unmodelled
from grader.timing.targets import decide_modelled, describe
from grader.timing.timed import Timed, how_timed
from grader.words import numbers

# How much longer an instruction may take later in a kernel than in the part that stands for the whole.
_UNLIKE = 1.25


class NotModelled(Exception):
    """The submission has no time that counts; the text gives the reason."""


def model(
    exercise: Exercise,
    device: VirtualDevice,
    baseline: Libraries,
    submission: Libraries,
    secret: str,
    notify: Notify = lambda text: None,
    *,
    quick: bool = False,
) -> Timed:
    """Both over the targets' cases. Every output is checked; with `quick` only the submission's, for the
    baseline is ours and a student waits, and a student's file has one time in every check: that of the blocks
    which `profile` shows. What is asked of a call that is not timed is asked of these, too."""
    traced = {} if quick else _traced_blocks(secret)
    with (
        device.measuring_session(baseline, traced) as theirs,
        device.session_with_figures(submission, {**traced, **TIMING}) as ours,
        ThreadPoolExecutor(1) as baselines,
        ThreadPoolExecutor(1) as submissions,
    ):
        pair = _Pair(exercise, theirs, ours, secret, baselines, submissions)
        modelling = _Modelling(exercise, device, submission, pair, secret, quick)
        try:
            modelling.run(notify)
        except NotModelled as problem:
            modelling.speed.notes.append(str(problem))
        return Timed(modelling.speed, modelling.reasons, modelling.reports)


class _Ran(NamedTuple):
    """A call of a case, and its outcome."""

    case: Case
    call: Call
    outcome: Outcome


@dataclass(frozen=True)
class _Pair:
    """The baseline and the submission, each in a session and a thread of its own."""

    exercise: Exercise
    theirs: VirtualSession
    ours: VirtualSession
    secret: str
    baselines: ThreadPoolExecutor
    submissions: ThreadPoolExecutor

    def begin(self, case: Case, number: int) -> tuple[Future[_Ran], Future[_Ran]]:
        """Run both at the same time, while the case before is judged."""
        seed, own = seeds.derive(self.secret, "speed", number), self.exercise.case_of_baseline(case)
        return (
            self.baselines.submit(_run_baseline, self.exercise, self.theirs, own, seed),
            self.submissions.submit(_run, self.exercise, self.ours, case, seed),
        )


class _Modelling:
    """One submission over the cases of the targets that need no GPU."""

    def __init__(
        self,
        exercise: Exercise,
        device: VirtualDevice,
        submission: Libraries,
        pair: _Pair,
        secret: str,
        quick: bool,
    ) -> None:
        self._exercise, self._device, self._submission = exercise, device, submission
        self._pair, self._secret, self._quick = pair, secret, quick
        self._targets = exercise.modelled_targets
        self._margin = model_margin(exercise, device.profile)
        self._in_graph = _tried_in_a_graph(exercise, self._targets)
        self._lacks: list[str] = []  # what the structure of the submission's calls lacks
        self.speed = Speed(modelled=True)
        self.reasons: dict[str, str] = {}
        self.reports: list[Report] = []

    def run(self, notify: Notify) -> None:
        """Fill in `speed`. Raises NotModelled."""
        if why := unmodelled(self._submission.virtual_library) or self._not_in_a_graph():
            raise NotModelled(why)
        self._model_cases(notify)
        for target in self._targets:
            by_name = {case.name: case for case in self.speed.cases if case.protocol == target.protocol}
            self.speed.targets.append(decide_modelled(target, by_name, self._margin, self._lacks))
        self._add_notes()

    def _not_in_a_graph(self) -> str:
        """A sentence when a target times calls in a graph and the submission's cannot be in one."""
        if self._in_graph is None:
            return ""
        return graph_trial.trial(self._exercise, self._in_graph, self._pair.ours, self._secret)

    def _model_cases(self, notify: Notify) -> None:
        cases = self._exercise.modelled_cases
        budget = self._device.time_budget()
        under_way = self._pair.begin(cases[0], 0) if cases else None
        for number, case in enumerate(cases):
            if budget.over:
                self.speed.cases = []
                raise NotModelled(budget.why_over(number, len(cases)))
            notify(f"modelling {case.name} ({number + 1} of {len(cases)})")
            assert under_way is not None
            base, mine = (running.result() for running in under_way)
            budget.spend(mine.outcome)
            self.reports.append(mine.outcome.report)
            following = number + 1
            under_way = self._pair.begin(cases[following], following) if following < len(cases) else None
            self._judge(base, mine)
            self._add_case(case, base.outcome, mine.outcome)

    def _judge(self, base: _Ran, mine: _Ran) -> None:
        """Raises NotModelled where the submission's call has no time that counts."""
        case, outcome = mine.case, mine.outcome
        if why := base.outcome.message if self._quick else _problem(self._exercise, base)[1]:
            raise RuntimeError(f"the baseline failed on {base.case.name}: {why}")
        reason, why = _problem(self._exercise, mine)
        if reason:
            self.reasons[case.name] = reason
            self.speed.wrong[case.name] = f"it went wrong while it was timed: {why}"
            raise NotModelled(f"{case.name}: {self.speed.wrong[case.name]}")
        if waits := _waits(outcome.report.call):
            raise NotModelled(f"{case.name}: {self._exercise.entry} {waits}")
        if not outcome.report.launches:
            raise NotModelled(f"{case.name}: nothing was launched on the device")
        if places := [launch.waits_at for launch in outcome.report.launches if launch.waits_at]:
            raise NotModelled(f"{case.name}: {_threads_wait(places[0])}")
        if strange := [launch for launch in outcome.report.launches if launch.not_modelled]:
            raise NotModelled(f"{case.name}: {_not_modelled(strange[0])}")
        if unlike := [launch for launch in outcome.report.launches if launch.unlike_replayed > _UNLIKE]:
            raise NotModelled(f"{case.name}: {_slower_later(unlike[0])}")
        if outcome.runtime_copies > 0:
            copies = numbers.counted(outcome.runtime_copies, "copy", "copies")
            raise NotModelled(
                f"{case.name}: {copies} by the runtime, whose time is not modelled: do their work in the "
                "kernel"
            )
        if case is self._in_graph and (why := _other_in_a_graph(outcome, self._pair.ours)):
            raise NotModelled(f"{case.name}: {why}")

    def _add_case(self, case: Case, base: Outcome, mine: Outcome) -> None:
        targets = [target for target in self._targets if case.name in target.cases]
        for protocol in sorted({target.protocol for target in targets}):
            known = measured_baseline(self._exercise, case, protocol, self._device.profile)
            seconds = known or modelled_call(base, protocol)[0]
            timed = _case(
                self._exercise, case, protocol, seconds, modelled_call(mine, protocol), self._margin
            )
            timed.baseline_measured_on = self._device.card if known else ""
            self.speed.cases.append(timed)
        for target in targets:
            looked_for = look(target.structure, case, mine, self._submission.resources)
            self._lacks += [result.message for result in looked_for if not result.passed]

    def _add_notes(self) -> None:
        device, exercise = self._device, self._exercise
        left = [describe(target) for target in exercise.targets if exercise.needs_gpu(target)]
        if not self._targets:
            self.speed.notes.append(
                f"on a GPU only: {'; '.join(left)}. So there are no points for speed here"
            )
            return
        compared = "" if was_compared(device.profile) else "; it was never compared with such a card"
        measured = any(case.baseline_measured_on for case in self.speed.cases)
        compared += f"; the baseline's times were measured on {device.card}" if measured else ""
        how = how_timed(sorted({case.protocol for case in self.speed.cases}))
        self.speed.notes.append(
            f"modelled for {device.card}, {how}; the model cannot see gains under "
            f"{100 * (LEAST - 1):.0f} %{compared}"
        )
        if left:
            self.speed.notes.append(
                f"on a GPU only: {'; '.join(left)}. Here their share of the points is spread over the others"
            )


def _run(exercise: Exercise, session: VirtualSession, case: Case, seed: str) -> _Ran:
    call = exercise.inputs(case.size, Random(seed))
    return _Ran(case, call, session.run(exercise.entry, call, CALL_SECONDS))


def _run_baseline(exercise: Exercise, session: VirtualSession, case: Case, seed: str) -> _Ran:
    """Run the baseline. It always ends, so if it exceeds the time twice, the machine is overloaded."""
    for _ in range(2):
        ran = _run(exercise, session, case, seed)
        if ran.outcome.ok or explain(ran.outcome)[0] != "timeout":
            return ran
    got = f"{CALL_SECONDS:g} s {COUNTED}, which is enough elsewhere"
    raise MachineOverloaded(f"the baseline of {exercise.id}", got)


def _tried_in_a_graph(exercise: Exercise, targets: Sequence[Speedup]) -> Case | None:
    """The first case that a target times in a graph."""
    inside = {name for target in targets if target.protocol == "graph" for name in target.cases}
    return next((case for case in exercise.bench if case.name in inside), None)


def _other_in_a_graph(outcome: Outcome, session: VirtualSession) -> str:
    """A sentence when the modelled call launched other kernels than its graph."""
    alone, inside = (
        sorted((launch.mangled, launch.grid, launch.block) for launch in launches)
        for launches in (outcome.report.launches, session.replayed)
    )
    if alone == inside or not inside:
        return ""
    return (
        f"a call launches {_kernels(outcome.report.launches)}, but captured into a graph it launches "
        f"{_kernels(session.replayed)}: its time would not be that of the graph. Do the same in both"
    )


def _kernels(launches: Sequence[Launch]) -> str:
    return ", ".join(numbers.short_kernel(launch.kernel) for launch in launches) or "nothing"


def _problem(exercise: Exercise, ran: _Ran) -> tuple[str, str]:
    """The reason and the sentence where a call failed, its answer is wrong or no kernel made it."""
    case, call, outcome = ran
    if not outcome.ok:
        return explain(outcome)
    wanted = answer(exercise, case.size, call)
    found = difference(exercise, case.size, call, wanted, outcome.after)
    if found is not None:
        return found.reason, found.message
    lack = not_by_kernels(outcome.report, changed_bytes(call, wanted.outputs))
    return (NOT_IN_A_KERNEL, lack) if lack else ("", "")


def _waits(call: BoundedCall | None) -> str:
    """What a call did that waits for the device: the model has no time for it, and a graph no place."""
    if call is None or not call.waited:
        return ""
    where = f" ({call.waited_at[0]})" if call.waited_at else ""
    return (
        f"waits for the device by {call.waited}{where}, whose time is not modelled: queue all work on the "
        "given stream and return"
    )


def _threads_wait(place: str) -> str:
    file, _, line = place.rpartition(":")
    return (
        f"{Path(file).name}:{line} is a loop in which threads wait for others (a flag, a lock, a clock). How "
        "long they would wait is not modelled: there is no modelled time. Let threads meet at "
        "__syncthreads(), and blocks at the end of a kernel"
    )


def _not_modelled(launch: Launch) -> str:
    return (
        f"{launch.without_time}, whose time is not modelled: there is no "
        "modelled time. Use loads, stores and cp.async, or measure on a GPU"
    )


def _slower_later(launch: Launch) -> str:
    return (
        f"{numbers.short_kernel(launch.kernel)} is so long that its time is modelled from its beginning, and "
        f"later its instructions take {launch.unlike_replayed:.1f} times as long: there is no modelled time. "
        "Give each block less to do, or begin with what takes longest"
    )


def _traced_blocks(secret: str) -> dict[str, object]:
    """The model samples a few blocks of each launch; the submission cannot know which."""
    return {"cost_seed": int(seeds.derive(secret, "traced blocks")[:8], 16) | 1}


def _case(
    exercise: Exercise,
    case: Case,
    protocol: TimingProtocol,
    base: float,
    mine: tuple[float, str],
    margin: float,
) -> SpeedCase:
    ratio = base / mine[0]
    return SpeedCase(
        name=case.name,
        sizes=dict(case.sizes),
        baseline_seconds=base,
        seconds=mine[0],
        ratio=ratio,
        low=ratio / margin,
        high=ratio * margin,
        bytes=exercise.moved(case),
        note=mine[1],
        protocol=protocol,
    )
