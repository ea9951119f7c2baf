"""The bench on the virtual GPU: every kernel's modelled time over the shapes, one kernel at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.proc import available_bytes
from common.core.progress import Notify
from common.virtual_gpu.profiles import DEFAULT_PROFILE
from grader.answers.compare import Answer, answer, difference
from grader.bench.bench import kernels_of
from grader.bench.shapes import Shape, shape_of, shapes_for, step_shape_of
from grader.building.libraries import Libraries
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.session import Outcome
from grader.spec import BASELINE, Call, Case, Exercise, Step, TimingProtocol
from grader.spec.random_inputs import Random
from grader.timing.modelled.baselines import measured_baseline
from grader.timing.modelled.call_time import modelled_call
from grader.words import numbers

_CALL_SECONDS = 600.0  # a large shape takes half a minute on a slow machine
_OPTIONS = {"max_seconds": int(_CALL_SECONDS)}
# Inputs, device memory and its contents afterwards exist at once, and caches need room.
_MEMORY_PER_BYTE_MOVED = 4
_NO_ENTRY = "entry"  # the reason of a call of an entry that a kernel's file does not have


@dataclass
class _Modelled:
    """A shape, and the time of every kernel there."""

    of: Shape
    card: str
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def task(self) -> Exercise | Step:
        return self.of.task

    @property
    def case(self) -> Case:
        return self.of.case

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def seed(self) -> str:
        return self.of.seed

    @property
    def protocol(self) -> TimingProtocol:
        return self.task.protocol if isinstance(self.task, Exercise) else "cold"

    def stands_on(self, kernel: str) -> Case:
        """The kernel's case: the baseline may use another than the others."""
        if isinstance(self.task, Exercise) and kernel == BASELINE:
            return self.task.case_of_baseline(self.case)
        return self.case

    @property
    def cases(self) -> list[Case]:
        """All cases that kernels use."""
        theirs = self.stands_on(BASELINE)
        return [self.case] if theirs == self.case else [self.case, theirs]

    def plain(self) -> dict[str, Any]:
        if isinstance(self.task, Step):
            return {**step_shape_of(self.task, self.case), "results": self.results}
        modelled = self.results[BASELINE]["seconds"]
        base = measured_baseline(self.task, self.case, self.protocol, self.card) or modelled
        rated = {
            name: {**one, "ratio": 1.0 if name == BASELINE else base / one["seconds"]}
            for name, one in self.results.items()
        }
        return {**shape_of(self.task, self.case), "results": rated}


@dataclass
class _Inputs:
    """A call at a case, and its right answer once it is computed."""

    call: Call
    wanted: Answer | None = None


def bench_virtual(
    exercise: Exercise,
    notify: Notify,
    *,
    large: bool = False,
    card: str = DEFAULT_PROFILE,
    sources: Mapping[str, Path] | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """Modelled seconds by shape and kernel, and the names of the shapes that were left out. `sources` replace
    the exercise's kernels; `only` is the name of the one shape to model."""
    device = VirtualDevice(card)
    chosen, left_out = shapes_for(exercise, modelled=True, large=large)
    shapes = [_Modelled(shape, card) for shape in chosen if only in (None, shape.name)]
    # Small shapes share a session per kernel; a large one gets all the memory.
    together = [shape for shape in shapes if not shape.case.gpu_only]
    alone = [[shape] for shape in shapes if shape.case.gpu_only]
    with scratch_folder() as scratch:
        kernels: dict[str, Libraries] = {}
        for name, source in (sources or kernels_of(exercise)).items():
            notify(f"building {name}")
            kernels[name] = device.compile(source, scratch / name, arch=exercise.arch)
        estimate = _Estimate(sum(s.task.moved(s.stands_on(name)) for s in shapes for name in kernels))
        for group in filter(None, (together, *alone)):
            _bench_group(group, device, kernels, estimate, notify)
    steps = [shape.plain() for shape in shapes if isinstance(shape.task, Step)]
    return {
        "shapes": [shape.plain() for shape in shapes if isinstance(shape.task, Exercise)],
        **({"steps": steps} if steps else {}),
        **({"left_out": left_out} if left_out else {}),
    }


def _bench_group(
    group: Sequence[_Modelled],
    device: VirtualDevice,
    kernels: dict[str, Libraries],
    estimate: _Estimate,
    notify: Notify,
) -> None:
    """All kernels over shapes whose inputs are made once. They are freed when this returns."""
    inputs: dict[tuple[str, str], _Inputs] = {}
    for shape in group:
        _make_sure_it_fits(shape)
        notify(f"{shape.name}: making inputs{estimate}")
        for case in shape.cases:
            made = shape.task.inputs(case.size, Random(shape.seed))
            inputs[shape.name, case.name] = _Inputs(made)
    for name, built in kernels.items():
        with device.measuring_session(built, _OPTIONS, beside=0) as session:
            for shape in group:
                notify(f"{shape.name}: modelling {name}{estimate}")
                _model(shape, name, session, inputs[shape.name, shape.stands_on(name).name])
                estimate.done(shape.task.moved(shape.stands_on(name)))


def _model(shape: _Modelled, kernel: str, session: VirtualSession, given: _Inputs) -> None:
    outcome = session.run(shape.task.entry, given.call, _CALL_SECONDS)
    if isinstance(shape.task, Step) and outcome.reason == _NO_ENTRY:
        return
    problem = outcome.message if not outcome.ok else _wrong(shape, kernel, outcome, given)
    if problem:
        raise CourseError(f"{kernel} failed at {shape.stands_on(kernel).name}: {problem}")
    seconds, limit = modelled_call(outcome, shape.protocol)
    streams = len({launch.stream for launch in outcome.report.launches})
    shape.results[kernel] = {
        "seconds": seconds,
        "limit": limit,
        **({"streams": streams} if streams > 1 else {}),
    }


def _wrong(shape: _Modelled, kernel: str, outcome: Outcome, given: _Inputs) -> str:
    """What is wrong with an answer. Large shapes are not checked: that would need their memory again."""
    if shape.case.gpu_only:
        return ""
    size = shape.stands_on(kernel).size
    given.wanted = given.wanted or answer(shape.task, size, given.call)
    found = difference(shape.task, size, given.call, given.wanted, outcome.after)
    return found.message if found is not None else ""


def _make_sure_it_fits(shape: _Modelled) -> None:
    """Fail early with a sentence, before the system runs out of memory and kills a process."""
    needed = _MEMORY_PER_BYTE_MOVED * sum(shape.task.moved(case) for case in shape.cases)
    free = available_bytes()
    if shape.case.gpu_only and free < needed:
        raise CourseError(
            f"{shape.name} needs about {numbers.size(needed)} of memory and {numbers.size(free)} are free: "
            "end other programs, or leave out --large"
        )


class _Estimate:
    """The time left: from this machine's rate so far, or from a usual rate."""

    _USUAL_RATE = 150e6  # bytes per second moved by kernels, on two CPUs
    _TELLING_SHARE = 0.02  # below this share done, the rate does not apply to large shapes

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()

    def done(self, amount: int) -> None:
        self._done += amount

    def __str__(self) -> str:
        rate = self._USUAL_RATE
        if self._done >= self._TELLING_SHARE * self._total:
            rate = self._done / max(time.monotonic() - self._started, 1e-3)
        return f", about {numbers.duration((self._total - self._done) / rate)} left"
