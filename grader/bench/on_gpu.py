"""The bench on a GPU: kernels and library alternatives, interleaved, over all shapes, with intervals."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from common.build.program import Target
from common.core.errors import CourseError
from common.core.progress import Notify
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.devices import first_gpu
from grader.bench.bench import kernels_of
from grader.bench.shapes import shape_of, step_shape_of
from grader.building.build import build
from grader.devices.on_gpu.arena import random_inputs
from grader.devices.on_gpu.session import GpuSession
from grader.devices.on_gpu.timed import SECONDS
from grader.spec import BASELINE, Case, Exercise, Step, Task, TimingProtocol, seeds
from grader.timing.measured.comparison import Side
from grader.timing.measured.interleaved import time_host_interleaved, time_interleaved
from grader.timing.measured.measure import copy_bandwidth
from grader.timing.measured.plausibility import Samples
from grader.timing.statistics import hedges_g, mann_whitney_p, median_interval, ratio_interval

_TURNS = 40
_SHAPE_SECONDS = 8.0


def bench_gpu(exercise: Exercise, notify: Notify) -> dict[str, Any]:
    libraries = {}
    for name, source in kernels_of(exercise).items():
        notify(f"building {name}")
        built = build(source, Target.gpu(first_gpu().cc))
        if built.library is None:
            raise CourseError(f"{source} does not compile: {built.message}")
        libraries[name] = built.library
    shapes = []
    with exclusive(), ExitStack() as stack:
        kernels = {name: stack.enter_context(GpuSession(path)) for name, path in libraries.items()}
        sides: dict[str, Side] = {**kernels, **exercise.rivals}
        bandwidth = copy_bandwidth()
        for number, case in enumerate(exercise.bench):
            notify(f"measuring {case.name} ({number + 1} of {len(exercise.bench)})")
            shapes.append(_shape(exercise, case, sides, seeds.derive("bench", number)))
        steps = [shape for step in exercise.steps for shape in _step_shapes(step, kernels, bandwidth, notify)]
    return {
        "shapes": shapes,
        **({"steps": steps} if steps else {}),
        "copy_bandwidth": bandwidth,
        "clock_mhz": read_clocks().sm_mhz,
    }


def _shape(exercise: Exercise, case: Case, sides: Mapping[str, Side], seed: str) -> dict[str, Any]:
    """`results` are timed like the exercise's targets; for graphs, times of single cold calls and of the host
    are added."""
    shape = {
        **shape_of(exercise, case),
        "protocol": exercise.protocol,
        "results": _timed(exercise, case, exercise.protocol, sides, seed),
    }
    if exercise.protocol == "graph":
        shape["cold"] = _timed(exercise, case, "cold", sides, seed)
        host = time_host_interleaved(
            exercise,
            case,
            sides,
            seed,
            elsewhere=exercise.elsewhere(case),
            unchecked=exercise.yardsticks,
        )
        shape["host"] = {name: _result(host[BASELINE], taken) for name, taken in host.items()}
    return shape


def _step_shapes(
    step: Step, kernels: Mapping[str, GpuSession], copy_bandwidth: float, notify: Notify
) -> list[dict[str, Any]]:
    """A step's times by kernel, for those that have it. Instead of a baseline, there is the time of a copy of
    as many bytes."""
    if not step.bench:
        return []
    smallest = step.inputs(step.cases[0].size, random_inputs(seeds.derive("bench", step.entry)))
    sides: dict[str, Side] = {
        name: session
        for name, session in kernels.items()
        if session.run(step.entry, smallest, SECONDS).reason != session.problem_word
    }
    shapes = []
    for number, case in enumerate(step.bench):
        notify(f"measuring {step.name}: {case.name} ({number + 1} of {len(step.bench)})")
        shape = step_shape_of(step, case)
        taken = _samples(step, case, "cold", sides, seeds.derive("bench", step.entry, number), {}, ())
        shape["protocol"] = "cold"
        shape["results"] = {
            name: {
                **_times(samples.per_call),
                "of_copy": shape["bytes"] / float(np.median(samples.per_call)) / copy_bandwidth,
            }
            for name, samples in taken.items()
        }
        shapes.append(shape)
    return shapes


def _timed(
    exercise: Exercise, case: Case, protocol: TimingProtocol, sides: Mapping[str, Side], seed: str
) -> dict[str, dict[str, float]]:
    samples = _samples(exercise, case, protocol, sides, seed, exercise.elsewhere(case), exercise.yardsticks)
    base = samples[BASELINE].per_call
    return {name: _result(base, taken.per_call) for name, taken in samples.items()}


def _samples(
    task: Task,
    case: Case,
    protocol: TimingProtocol,
    sides: Mapping[str, Side],
    seed: str,
    elsewhere: Mapping[str, Case],
    unchecked: Collection[str],
) -> dict[str, Samples]:
    samples = {name: Samples() for name in sides}
    time_interleaved(
        task,
        case,
        protocol,
        sides,
        samples,
        seed,
        turns=_TURNS,
        deadline=time.monotonic() + _SHAPE_SECONDS,
        elsewhere=elsewhere,
        unchecked=unchecked,
    )
    return samples


def _result(baseline: list[float], samples: list[float]) -> dict[str, float]:
    ratio = ratio_interval(baseline, samples)
    return {
        **_times(samples),
        "ratio": ratio.value,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        # Whether the speeds differ, and by how many standard deviations.
        "hedges_g": hedges_g(baseline, samples),
        "mann_whitney_p": mann_whitney_p(baseline, samples),
    }


def _times(samples: list[float]) -> dict[str, float]:
    seconds = median_interval(samples)
    return {
        "seconds": seconds.value,
        "low": seconds.low,
        "high": seconds.high,
        "samples": len(samples),
        "spread": float(np.std(samples) / np.mean(samples)),
    }
