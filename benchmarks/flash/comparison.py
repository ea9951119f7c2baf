"""Several kernels for the same answer: checked against fp32, then timed interleaved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.flash.exact import largest_error
from benchmarks.flash.ways import Kind
from benchmarks.timing.graphs import captured, in_turns, summary
from common.core.errors import CourseError

if TYPE_CHECKING:
    import torch

Attend = Callable[[], "torch.Tensor"]
MOST_ERROR = 1e-2  # relative, of a right answer
MOST_SECONDS = 20e-3  # the longest call that is timed
_LEAST_SAMPLES = 12


@dataclass(frozen=True)
class Side:
    """A kernel, with a call for each set of inputs."""

    name: str
    kind: Kind
    calls: Sequence[Attend]
    outs: Sequence[torch.Tensor] = ()  # the outputs of kernels that do not make new tensors


@dataclass(frozen=True)
class SampleCount:
    """How often each side is timed: `most` times, fewer where rounds take long."""

    most: int
    seconds: float

    def of(self, round_seconds: float) -> int:
        least = min(_LEAST_SAMPLES, self.most)
        return max(least, min(self.most, int(self.seconds / max(round_seconds, 1e-9))))


class Clock(Protocol):
    def prepared(self, calls: Sequence[Attend]) -> Callable[[], float]:
        """Each call returns seconds per call."""


class GraphClock:
    """All calls in one CUDA graph. The stream is held until the replay is queued."""

    def prepared(self, calls: Sequence[Attend]) -> Callable[[], float]:
        from common.gpu.support import begin_replay, end_timing

        graph = captured(calls)

        def seconds() -> float:
            begin_replay()
            graph.replay()
            return end_timing() / len(calls)

        return seconds


class ColdClock:
    """One call from a cold L2."""

    def prepared(self, calls: Sequence[Attend]) -> Callable[[], float]:
        from benchmarks.timing.cold import cold_seconds

        return lambda: cold_seconds(calls[0])


def compare(
    sides: Sequence[Side], wanted: Sequence[torch.Tensor], clock: Clock, samples: SampleCount, against: str
) -> dict[str, Any]:
    """Times and errors of all sides that are right and quick enough, and why others are left out. `wanted`
    are the right answers, one for each set of inputs."""
    errors: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for side in sides:
        found = _looked_at(side, wanted, clock)
        if isinstance(found, str):
            left_out[side.name] = found
        else:
            errors[side.name] = found
    if against not in errors:
        raise CourseError(f"{against}, the reference for all ratios, is left out: {left_out[against]}")
    kept = [side for side in sides if side.name in errors]
    measures = {side.name: clock.prepared(side.calls) for side in kept}
    count = samples.of(sum(measures[side.name]() * len(side.calls) for side in kept))
    times = summary(in_turns(measures, count), against)
    ways = [
        {"name": side.name, "kind": side.kind, **times[side.name], "error": float(f"{errors[side.name]:.4g}")}
        for side in kept
    ]
    return {"ways": ways, "left_out": left_out}


def _looked_at(side: Side, wanted: Sequence[torch.Tensor], clock: Clock) -> float | str:
    """The largest error of any call, or why this side is not timed."""
    for out in side.outs:  # another side's output must not pass
        out.fill_(float("nan"))
    try:
        error = max(largest_error(call(), answer) for call, answer in zip(side.calls, wanted, strict=True))
        if not error <= MOST_ERROR:  # also true for NaN
            return f"wrong: a row is off by {error:.2g} of its norm"
        seconds = clock.prepared(side.calls[:1])()
    except (RuntimeError, CourseError) as problem:
        return f"does not run here: {str(problem).splitlines()[0]}"
    return error if seconds <= MOST_SECONDS else f"a call takes {seconds * 1e3:.0f} ms"
