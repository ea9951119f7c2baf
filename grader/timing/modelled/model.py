"""Speed without a GPU: modelled times of the baseline and the submission, always labelled modelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from common.core.cpu_time import COUNTED
from common.core.errors import MachineOverloaded
from common.virtual_gpu.report import Launch
from grader.answers.compare import answer, difference
from grader.building.libraries import Libraries
from grader.devices.device import VirtualDevice
from grader.devices.evidence import look
from grader.devices.explanations import explain
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.session import Outcome
from grader.devices.time_budget import CALL_SECONDS
from grader.records.record import Speed, SpeedCase
from grader.spec import Call, Case, Exercise, Speedup, TimingProtocol, seeds
from grader.spec.random_inputs import Random
from grader.timing.modelled import graph_trial as graph_virtual
from grader.timing.modelled.call_time import modelled_call
from grader.timing.modelled.margin import LEAST, model_margin, was_compared
from grader.timing.modelled.unmodelled import unmodelled
from grader.timing.targets import decide_modelled, describe
from grader.words import numbers


def model(
    exercise: Exercise,
    device: VirtualDevice,
    baseline: Libraries,
    submission: Libraries,
    secret: str,
    notify: Callable[[str], None] = lambda text: None,
    *,
    quick: bool = False,
) -> Speed:
    """Model both over the targets' cases. Every output is checked; with `quick` only the submission's,
    because a student waits."""
    speed = Speed(modelled=True)
    targets = [t for t in exercise.targets if isinstance(t, Speedup) and not exercise.needs_gpu(t)]
    names = {name for target in targets for name in target.cases}
    cases = [case for case in exercise.bench if case.name in names]
    lacks: list[str] = []
    margin = model_margin(exercise, device.profile)
    budget = device.time_budget()
    tried = _tried_in_a_graph(exercise, targets)
    with (
        _session(device, baseline, secret) as theirs,
        _session(device, submission, secret) as ours,
        ThreadPoolExecutor(1) as baselines,
        ThreadPoolExecutor(1) as submissions,
    ):

        def begin(number: int) -> tuple[Future[_Ran], Future[_Ran]]:
            """Run both in parallel, while the previous case is judged."""
            case, seed = cases[number], seeds.derive(secret, "speed", number)
            own = exercise.case_of_baseline(case)
            return (
                baselines.submit(_run_baseline, exercise, theirs, own, seed),
                submissions.submit(_run, exercise, ours, case, seed),
            )

        if why := unmodelled(submission.virtual_library) or _not_in_a_graph(tried, exercise, ours, secret):
            speed.notes.append(why)
            return speed
        under_way = begin(0) if cases else None
        for number, case in enumerate(cases):
            if budget.over:
                speed.notes.append(budget.why_over(number, len(cases)))
                speed.cases = []
                return speed
            notify(f"modelling {case.name} ({number + 1} of {len(cases)})")
            assert under_way is not None
            (own, their_call, base), (_, call, mine) = (running.result() for running in under_way)
            budget.spend(mine)
            under_way = begin(number + 1) if number + 1 < len(cases) else None
            if why := base.message if quick else _problem(exercise, own, their_call, base):
                raise RuntimeError(f"the baseline failed on {own.name}: {why}")
            if why := _problem(exercise, case, call, mine):
                speed.wrong[case.name] = f"it was wrong while it was timed: {why}"
                speed.notes.append(f"{case.name}: {speed.wrong[case.name]}")
                return speed
            if not mine.report.launches:
                speed.notes.append(f"{case.name}: nothing was launched on the device")
                return speed
            if mine.runtime_copies > 0:
                copies = numbers.counted(mine.runtime_copies, "copy", "copies")
                speed.notes.append(
                    f"{case.name}: {copies} by the runtime, whose time is not modelled: do their work in the "
                    "kernel"
                )
                return speed
            if case is tried and (why := _other_in_a_graph(mine, ours)):
                speed.notes.append(f"{case.name}: {why}")
                return speed
            for protocol in sorted({t.protocol for t in targets if case.name in t.cases}):
                times = modelled_call(base, protocol), modelled_call(mine, protocol)
                speed.cases.append(_case(exercise, case, protocol, *times, margin))
            for target in targets:
                if case.name in target.cases:
                    lacks += [
                        result.message
                        for result in look(target.structure, case, mine, submission.resources)
                        if not result.passed
                    ]
    for target in targets:
        by_name = {case.name: case for case in speed.cases if case.protocol == target.protocol}
        speed.targets.append(decide_modelled(target, by_name, margin, lacks))
    speed.notes.append(
        f"modelled for {device.card}, cold L2; the model cannot resolve gains under {100 * (LEAST - 1):.0f} %"
        + ("" if was_compared(device.profile) else "; the model was never compared with such a card")
    )
    if left := [describe(target) for target in exercise.targets if exercise.needs_gpu(target)]:
        speed.notes.append(
            f"on a GPU only: {'; '.join(left)}. Here the other targets get their share of the points"
        )
    return speed


class _Ran(NamedTuple):
    """A call of a case, and its outcome."""

    case: Case
    call: Call
    outcome: Outcome


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


def _not_in_a_graph(tried: Case | None, exercise: Exercise, session: VirtualSession, secret: str) -> str:
    """A sentence when a target times calls in a graph and the submission's cannot be captured."""
    return "" if tried is None else graph_virtual.trial(exercise, tried, session, secret)


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


def _problem(exercise: Exercise, case: Case, call: Call, outcome: Outcome) -> str:
    """Why a call failed or what is wrong with its answer."""
    if not outcome.ok:
        return outcome.message
    found = difference(exercise, case.size, call, answer(exercise, case.size, call), outcome.after)
    return found.message if found is not None else ""


def _session(device: VirtualDevice, program: Libraries, secret: str) -> VirtualSession:
    # The model samples a few blocks of each launch; the submission cannot know which.
    seed = int(seeds.derive(secret, "traced blocks")[:8], 16) | 1
    return device.measuring_session(program, {"cost_seed": seed})


def _case(
    exercise: Exercise,
    case: Case,
    protocol: TimingProtocol,
    base: tuple[float, str],
    mine: tuple[float, str],
    margin: float,
) -> SpeedCase:
    ratio = base[0] / mine[0]
    return SpeedCase(
        name=case.name,
        sizes=dict(case.sizes),
        baseline_seconds=base[0],
        seconds=mine[0],
        ratio=ratio,
        low=ratio / margin,
        high=ratio * margin,
        bytes=exercise.moved(case),
        note=mine[1],
        protocol=protocol,
    )
