"""The bench on a GPU: kernels and library alternatives, interleaved, over all shapes, with intervals."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from common.build.program import Target
from common.core.errors import CourseError
from common.core.progress import Notify
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.devices import first_gpu
from grader.bench.bench import kernels_of
from grader.bench.shapes import Shape, all_shapes, shape_of, step_shape_of
from grader.building.build import build
from grader.devices.device import target_for
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


def bench_gpu(
    exercise: Exercise,
    notify: Notify,
    *,
    sources: Mapping[str, Path] | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """Measured seconds by shape and kernel. `sources` replace the exercise's kernels; `only` names the one
    shape to measure."""
    target = target_for(Target.gpu(first_gpu().cc), exercise.arch)
    libraries = {}
    for name, source in (sources or kernels_of(exercise)).items():
        notify(f"building {name}")
        built = build(source, target)
        if built.library is None:
            raise CourseError(f"{source} does not compile: {built.message}")
        libraries[name] = built.library
    chosen = [shape for shape in all_shapes(exercise) if only in (None, shape.name)]
    found: dict[str, list[dict[str, Any]]] = {"shapes": [], "steps": []}
    with exclusive(), ExitStack() as stack:
        kernels = {name: stack.enter_context(GpuSession(path)) for name, path in libraries.items()}
        sides: dict[str, Side] = {**kernels, **exercise.rivals}
        bandwidth = copy_bandwidth()
        having: dict[str, dict[str, Side]] = {}  # the kernels that have a step, by its entry
        for number, shape in enumerate(chosen):
            notify(f"measuring {shape.name} ({number + 1} of {len(chosen)})")
            if isinstance(shape.task, Step):
                entry = shape.task.entry
                if entry not in having:
                    having[entry] = _with_step(shape.task, kernels)
                found["steps"].append(_step_shape(shape.task, shape, having[entry], bandwidth))
            else:
                found["shapes"].append(_shape(exercise, shape.case, sides, shape.seed))
    return {
        "shapes": found["shapes"],
        **({"steps": found["steps"]} if found["steps"] else {}),
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


def _with_step(step: Step, kernels: Mapping[str, GpuSession]) -> dict[str, Side]:
    smallest = step.inputs(step.cases[0].size, random_inputs(seeds.derive("bench", step.entry)))
    return {
        name: session
        for name, session in kernels.items()
        if session.run(step.entry, smallest, SECONDS).reason != session.problem_word
    }


def _step_shape(step: Step, of: Shape, sides: Mapping[str, Side], copy_bandwidth: float) -> dict[str, Any]:
    """A step's times by kernel. Instead of a baseline, there is the time of a copy of as many bytes."""
    shape = step_shape_of(step, of.case)
    taken = _samples(step, of.case, "cold", sides, of.seed, {}, ())
    shape["protocol"] = "cold"
    shape["results"] = {
        name: {
            **_times(samples.per_call),
            "of_copy": shape["bytes"] / float(np.median(samples.per_call)) / copy_bandwidth,
        }
        for name, samples in taken.items()
    }
    return shape


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
