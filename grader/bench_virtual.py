"""The bench on the virtual GPU: every kernel's modelled time over the shapes, one kernel at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import CourseError
from grader import seeds
from grader.bench import kernels_of
from grader.device.virtual import MEASURING, VirtualSession
from grader.libraries import Libraries, compile_submission
from grader.modelled import modelled_call
from grader.random_inputs import Random
from grader.render import numbers
from grader.spec import Case, Exercise

_CALL_SECONDS = 600.0  # a large shape takes half a minute on a slow machine
_OPTIONS = {**MEASURING, "max_seconds": int(_CALL_SECONDS)}
# Inputs, device memory and what the device held afterwards lie side by side, caches with room to spare.
_MEMORY_PER_BYTE_MOVED = 4
_MEMORY = Path("/proc/meminfo")


def bench_virtual(exercise: Exercise, tell: Callable[[str], None], *, large: bool = False) -> dict[str, Any]:
    """Modelled seconds by shape and kernel, and the names of the shapes that were left out."""
    numbered = [(n, case) for n, case in enumerate(exercise.bench) if large or not case.gpu_only]
    results: dict[str, dict[str, Any]] = {case.name: {} for _, case in numbered}
    # Shapes that fit share a session of each kernel; a large one has all the memory to itself.
    together = [pair for pair in numbered if not pair[1].gpu_only]
    alone = [[pair] for pair in numbered if pair[1].gpu_only]
    with TemporaryDirectory(prefix="bench-") as scratch:
        kernels: dict[str, Libraries] = {}
        for name, source in kernels_of(exercise).items():
            tell(f"building {name}")
            kernels[name] = compile_submission(source, "virtual", Path(scratch) / name)
        estimate = _Estimate(len(kernels) * sum(exercise.bytes_moved(case.size) for _, case in numbered))
        for group in filter(None, (together, *alone)):
            _bench_group(exercise, group, kernels, results, estimate, tell)
    left_out = [case.name for case in exercise.bench if case.name not in results]
    return {
        "shapes": [_shape(exercise, case, results[case.name]) for _, case in numbered],
        **({"left_out": left_out} if left_out else {}),
    }


def _bench_group(
    exercise: Exercise,
    group: Sequence[tuple[int, Case]],
    kernels: dict[str, Libraries],
    results: dict[str, dict[str, Any]],
    estimate: _Estimate,
    tell: Callable[[str], None],
) -> None:
    """All kernels over shapes whose inputs are made once. They are gone when this returns."""
    calls = {}
    for number, case in group:
        _make_sure_it_fits(exercise, case)
        tell(f"{case.name}: making inputs{estimate}")
        calls[case.name] = exercise.inputs(case.size, Random(seeds.derive("bench", number)))
    for name, built in kernels.items():
        with VirtualSession(built.path("virtual"), options=_OPTIONS, resources=built.registers) as session:
            for _, case in group:
                tell(f"{case.name}: modelling {name}{estimate}")
                outcome = session.run(exercise.entry, calls[case.name], _CALL_SECONDS)
                if not outcome.ok:
                    raise CourseError(f"{name} failed at {case.name}: {outcome.message}")
                seconds, limit = modelled_call(outcome, exercise.protocol)
                results[case.name][name] = {"seconds": seconds, "limit": limit}
                estimate.done(exercise.bytes_moved(case.size))
                del outcome  # it holds all the buffers once more


def _shape(exercise: Exercise, case: Case, results: dict[str, Any]) -> dict[str, Any]:
    base = results["baseline"]["seconds"]
    return {
        "case": case.name,
        "sizes": dict(case.sizes),
        "bytes": exercise.bytes_moved(case.size),
        "results": {name: {**result, "ratio": base / result["seconds"]} for name, result in results.items()},
    }


def _make_sure_it_fits(exercise: Exercise, case: Case) -> None:
    """A sentence now is better than the kernel's choice of a process to kill later."""
    needed = _MEMORY_PER_BYTE_MOVED * exercise.bytes_moved(case.size)
    free = _available_memory()
    if case.gpu_only and free is not None and free < needed:
        raise CourseError(
            f"{case.name} needs about {numbers.size(needed)} of memory and {numbers.size(free)} are free: "
            "end other programs, or leave out --large"
        )


def _available_memory() -> int | None:
    """In bytes, as the kernel tells it."""
    try:
        lines = _MEMORY.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


class _Estimate:
    """How long the rest will take: by what this machine has done so far, or by what one usually does."""

    _USUAL_RATE = 150e6  # bytes moved by kernels, a second, on two CPUs
    _TELLING_SHARE = 0.02  # before so much is done, the rate says nothing about large shapes

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
