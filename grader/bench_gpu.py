"""The bench on a GPU: kernels and library alternatives in turns over all shapes, cold, with intervals."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from common.build import Target
from common.devices import first_gpu
from common.errors import CourseError
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.support import SharedBuffer, begin_timing, end_timing
from grader import seeds
from grader.bench import kernels_of
from grader.compare import difference, expected
from grader.device.gpu import GpuSession
from grader.random_inputs import Random
from grader.spec import Case, Exercise, Size
from grader.stages.build import build
from grader.stages.correctness import CALL_SECONDS
from grader.stages.speed_gpu import copy_bandwidth
from grader.statistics import hedges_g, mann_whitney_p, median_interval, ratio_interval

if TYPE_CHECKING:
    import torch

_TURNS = 40
_LEAST_TURNS = 11
_SHAPE_SECONDS = 8.0
_WARM_UP = 2
Alternative = Callable[[Size, Mapping[str, "torch.Tensor"]], None]


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
        sessions = {name: stack.enter_context(GpuSession(path)) for name, path in libraries.items()}
        bandwidth = copy_bandwidth()
        for number, case in enumerate(exercise.bench):
            tell(f"measuring {case.name} ({number + 1} of {len(exercise.bench)})")
            shapes.append(_shape(exercise, case, sessions, seeds.derive("bench", number)))
    return {"shapes": shapes, "copy_bandwidth": bandwidth, "clock_mhz": read_clocks().sm_mhz}


def _shape(exercise: Exercise, case: Case, sessions: Mapping[str, GpuSession], seed: str) -> dict[str, Any]:
    order = random.Random(seed)
    samples: dict[str, list[float]] = {name: [] for name in (*sessions, *exercise.alternatives)}
    size = case.size
    deadline = time.monotonic() + _SHAPE_SECONDS
    buffers: dict[str, SharedBuffer] = {}
    turn = 0
    while turn < _TURNS + _WARM_UP and (turn < _LEAST_TURNS + _WARM_UP or time.monotonic() < deadline):
        call = exercise.inputs(size, Random(seeds.derive(seed, turn), "cuda"))
        buffers = buffers or {name: SharedBuffer(tensor) for name, tensor in call.buffers.items()}
        wanted = expected(exercise, size, call)
        for name in order.sample(list(samples), len(samples)):
            for key, tensor in call.buffers.items():
                buffers[key].write(tensor)
            tensors = {key: buffer.tensor() for key, buffer in buffers.items()}
            if name in sessions:
                outcome = sessions[name].call(exercise.entry, call, buffers, CALL_SECONDS, timed=True)
                if not outcome.ok:
                    raise CourseError(f"{name} failed at {case.name}: {outcome.message}")
                seconds = sessions[name].timing.seconds
            else:
                seconds = _time_alternative(exercise.alternatives[name], size, tensors)
            wrong = difference(exercise, size, call, wanted, tensors)
            if wrong is not None:
                raise CourseError(f"{name} is wrong at {case.name}: {wrong.message}")
            if turn >= _WARM_UP:
                samples[name].append(seconds)
        turn += 1
    for session in sessions.values():
        session.forget(buffers)
    for buffer in buffers.values():
        buffer.free()
    return {
        "case": case.name,
        "sizes": dict(case.sizes),
        "bytes": exercise.bytes_moved(size),
        "results": {name: _result(samples["baseline"], taken) for name, taken in samples.items()},
    }


def _time_alternative(function: Alternative, size: Size, tensors: Mapping[str, torch.Tensor]) -> float:
    """A library's way, in this process: nothing of a submission is in it."""
    begin_timing()
    function(size, tensors)
    return end_timing()


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
