"""One call of a file on the virtual GPU, with everything the engine counts: what `profile` shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from common.virtual_gpu.render import render_findings
from common.virtual_gpu.report import Report
from grader.answers.compare import answer, difference
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.devices.time_budget import CALL_SECONDS
from grader.spec import Case, Exercise, Speedup, TimingProtocol, seeds
from grader.spec.random_inputs import Random
from grader.timing.modelled.call_time import modelled_call
from grader.words.text import harmless

_ADVICE = "`./course check {}` finds the smallest case that fails; fix that before you look at speed"


@dataclass(frozen=True)
class Profile:
    """The engine's report on one call, its modelled seconds alone and in a graph, and a sentence if its
    answer is wrong. `protocol` is how the exercise times its kernels."""

    report: Report
    seconds: float
    seconds_in_a_graph: float
    wrong: str = ""
    protocol: TimingProtocol = "cold"

    @property
    def shown_seconds(self) -> float:
        """The seconds that `check` shows."""
        return self.seconds if self.protocol == "cold" else self.seconds_in_a_graph


def profile(
    exercise: Exercise, source: Path, case: Case, *, timeline: int = 0, card: str = DEFAULT_PROFILE
) -> Profile:
    """Run on the virtual GPU, which models `card`. `timeline` is the number of warps of a block that are
    followed through the model, instruction by instruction.

    Raises CourseError with a sentence when the call cannot be built or run.
    """
    import torch

    torch.set_num_threads(1)  # as in grading: threads that wait for each other cost more than they help
    device = VirtualDevice(card)
    with scratch_folder() as scratch:
        built = device.compile(source, scratch, arch=exercise.arch)
        call = exercise.inputs(case.size, Random(seeds.derive("profile", case.name)))
        with device.measuring_session(built, {"timeline": timeline}) as session:
            outcome = session.run(exercise.entry, call, CALL_SECONDS)
    if not outcome.ok:
        # The findings name the line; a profile of a call that failed would mislead.
        seen = harmless(render_findings(outcome.report.findings)).rstrip()
        raise CourseError("\n".join(filter(None, (outcome.message, seen, _ADVICE.format(exercise.number)))))
    found = difference(exercise, case.size, call, answer(exercise, case.size, call), outcome.after)
    return Profile(
        outcome.report,
        modelled_call(outcome, "cold")[0] if outcome.report.launches else 0.0,
        modelled_call(outcome, "graph")[0] if outcome.report.launches else 0.0,
        found.message if found is not None else "",
        exercise.protocol,
    )


def chosen_case(exercise: Exercise, name: str | None) -> Case:
    """The bench case of that name, else the largest case of a speed target that the CPU can run."""
    fitting = [case for case in exercise.bench if not case.gpu_only]
    if name is not None:
        for case in fitting:
            if case.name == name:
                return case
        known = "; ".join(case.name for case in fitting)
        raise CourseError(f"{exercise.id} has no bench case {name!r} for the virtual GPU; there are: {known}")
    targeted = {name for target in exercise.targets if isinstance(target, Speedup) for name in target.cases}
    candidates = [case for case in fitting if case.name in targeted] or fitting
    if not candidates:
        raise CourseError(f"{exercise.id} has no bench case that fits the virtual GPU")
    return max(candidates, key=lambda case: exercise.bytes_moved(case.size))
