"""The bench on a GPU: kernels and library alternatives in turns over all shapes, with intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from common.build import Target
from common.devices import first_gpu
from common.errors import CourseError
from common.gpu.clocks import exclusive, read_clocks
from grader import seeds
from grader.bench import kernels_of
from grader.device.gpu import GpuSession
from grader.spec import BASELINE, Case, Exercise, Protocol_
from grader.stages.belief import Samples
from grader.stages.build import build
from grader.stages.contest import Contestant
from grader.stages.speed_gpu import copy_bandwidth
from grader.stages.turns import take_host_turns, take_turns
from grader.statistics import hedges_g, mann_whitney_p, median_interval, ratio_interval

_TURNS = 40
_SHAPE_SECONDS = 8.0


def bench_gpu(exercise: Exercise, tell: Callable[[str], None]) -> dict[str, Any]:
    libraries = {}
    for name, source in kernels_of(exercise).items():
        tell(f"building {name}")
        built = build(source, Target.gpu(first_gpu().cc))
        if built.library is None:
            raise CourseError(f"{source} does not compile: {built.message}")
        libraries[name] = built.library
    shapes = []
    with exclusive(), ExitStack() as stack:
        sides: dict[str, Contestant] = {
            name: stack.enter_context(GpuSession(path)) for name, path in libraries.items()
        }
        sides |= exercise.rivals
        bandwidth = copy_bandwidth()
        for number, case in enumerate(exercise.bench):
            tell(f"measuring {case.name} ({number + 1} of {len(exercise.bench)})")
            shapes.append(_shape(exercise, case, sides, seeds.derive("bench", number)))
    return {"shapes": shapes, "copy_bandwidth": bandwidth, "clock_mhz": read_clocks().sm_mhz}


def _shape(exercise: Exercise, case: Case, sides: Mapping[str, Contestant], seed: str) -> dict[str, Any]:
    """`results` as the exercise's targets time it; what is timed inside graphs is shown cold and by the
    host's clock as well."""
    shape = {
        "case": case.name,
        "sizes": dict(case.sizes),
        "bytes": exercise.bytes_moved(case.size),
        "protocol": exercise.protocol,
        "results": _timed(exercise, case, exercise.protocol, sides, seed),
    }
    if exercise.protocol == "graph":
        shape["cold"] = _timed(exercise, case, "cold", sides, seed)
        host = take_host_turns(exercise, case, sides, seed, unchecked=exercise.yardsticks)
        shape["host"] = {name: _result(host[BASELINE], taken) for name, taken in host.items()}
    return shape


def _timed(
    exercise: Exercise, case: Case, protocol: Protocol_, sides: Mapping[str, Contestant], seed: str
) -> dict[str, dict[str, float]]:
    samples = {name: Samples() for name in sides}
    take_turns(
        exercise,
        case,
        protocol,
        sides,
        samples,
        seed,
        turns=_TURNS,
        deadline=time.monotonic() + _SHAPE_SECONDS,
        unchecked=exercise.yardsticks,
    )
    base = samples[BASELINE].per_call
    return {name: _result(base, taken.per_call) for name, taken in samples.items()}


def _result(baseline: list[float], samples: list[float]) -> dict[str, float]:
    seconds, ratio = median_interval(samples), ratio_interval(baseline, samples)
    return {
        "seconds": seconds.value,
        "low": seconds.low,
        "high": seconds.high,
        "ratio": ratio.value,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "samples": len(samples),
        # Is it another speed at all, and by how many standard deviations?
        "hedges_g": hedges_g(baseline, samples),
        "mann_whitney_p": mann_whitney_p(baseline, samples),
        "spread": float(np.std(samples) / np.mean(samples)),
    }
