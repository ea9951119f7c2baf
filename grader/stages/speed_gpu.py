"""Speed on a GPU: baseline and submission in turns, on fresh inputs, cold, every output checked.

Event times come from the worker, where a submission could tamper with them: they are held against a clock
it cannot reach: this process's own, over all calls. What the events claim to save must be saved there too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from common.errors import CourseError
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.support import SharedBuffer, time_copy, time_nothing
from grader import seeds
from grader.compare import difference, expected
from grader.device.gpu import GpuSession
from grader.random_inputs import Random
from grader.record import Speed, SpeedCase
from grader.spec import Call, Case, CopyBandwidth, Exercise, Speedup
from grader.stages.belief import Device, Samples, fits_clock, fits_device
from grader.stages.correctness import CALL_SECONDS
from grader.stages.targets import decide_bandwidth, decide_measured
from grader.statistics import ratio_interval

PAIRS = 64  # timed calls of each, at least
_LIMIT_SECONDS = 60.0
_MOST_ROUNDS = 4  # of PAIRS, while a target is too close to call
_BATCHES, _CALLS_IN_A_BATCH = 5, 24  # for the clock outside
_COPY_BYTES = 1 << 30


def measure(
    exercise: Exercise,
    baseline: Path,
    submission: Path,
    secret: str,
    tell: Callable[[str], None] = lambda text: None,
) -> Speed:
    """All cases that targets name, within a minute; what was not reached is said."""
    speed = Speed(modelled=False)
    cases = [case for case in exercise.bench if case.name in _names(exercise)]
    tell(f"measuring {len(cases)} cases, about {len(cases) * 2} s, at most {_LIMIT_SECONDS:.0f} s")
    started = time.monotonic()
    deadline = started + _LIMIT_SECONDS
    samples = {case.name: (Samples(), Samples()) for case in cases}
    with exclusive(), GpuSession(baseline) as theirs, GpuSession(submission) as ours:
        device = Device(copy_bandwidth(), float(np.median([time_nothing() for _ in range(9)])))
        speed.copy_bandwidth = device.copy_bandwidth
        if problem := _out_of_order(exercise, cases[0], ours, seeds.derive(secret, "order")):
            speed.notes.append(problem)
            return speed
        for round_number in range(_MOST_ROUNDS):
            round_started = time.monotonic()
            for number, case in enumerate(cases):
                if time.monotonic() > deadline:
                    missing = [c.name for c in cases if not samples[c.name][0].events]
                    if missing:
                        speed.notes.append(f"no time was left for {', '.join(missing)}")
                    break
                tell(f"measuring {case.name} ({number + 1} of {len(cases)})")
                seed = seeds.derive(secret, "speed", round_number, number)
                note = _measure_case(
                    exercise, case, theirs, ours, seed, samples[case.name], deadline, speed, device
                )
                if note:
                    speed.notes.append(f"{case.name}: {note}")
                    speed.targets = []
                    return speed
            _decide(exercise, cases, samples, speed)
            took = time.monotonic() - round_started
            if all(t.decision != "undecided" for t in speed.targets) or time.monotonic() + took > deadline:
                break
            tell("too close to call: measuring longer")
    speed.notes.append(
        f"measured for {time.monotonic() - started:.0f} s, cold L2, in turns with the baseline"
    )
    return speed


def _decide(
    exercise: Exercise,
    cases: Sequence[Case],
    samples: Mapping[str, tuple[Samples, Samples]],
    speed: Speed,
) -> None:
    speed.cases = [
        _speed_case(exercise, case, *samples[case.name]) for case in cases if samples[case.name][0].events
    ]
    by_name = {case.name: case for case in speed.cases}
    speed.targets = []
    for target in exercise.targets:
        if isinstance(target, Speedup) and all(name in by_name for name in target.cases):
            speed.targets.append(decide_measured(target, by_name))
        elif isinstance(target, CopyBandwidth) and target.case in by_name:
            speed.targets.append(decide_bandwidth(target, by_name[target.case], speed.copy_bandwidth))


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of a plain copy on this device now."""
    return 2 * _COPY_BYTES / float(np.median([time_copy(_COPY_BYTES) for _ in range(9)]))


def _names(exercise: Exercise) -> set[str]:
    names: set[str] = set()
    for target in exercise.targets:
        names |= set(target.cases) if isinstance(target, Speedup) else {target.case}
    return names


def _measure_case(
    exercise: Exercise,
    case: Case,
    theirs: GpuSession,
    ours: GpuSession,
    seed: str,
    samples: tuple[Samples, Samples],
    deadline: float,
    speed: Speed,
    device: Device,
) -> str:
    """Takes more samples of a case; a sentence when the submission's times cannot count."""
    base, mine = samples
    before = read_clocks()
    problem = _take_turns(exercise, case, (theirs, base), (ours, mine), seed, deadline)
    if problem:
        speed.wrong[case.name] = problem
        return problem
    after = read_clocks()
    mine.clocks = f"SM clock {before.sm_mhz} to {after.sm_mhz} MHz"
    if throttled := before.throttled or after.throttled:
        base.drop(PAIRS)
        mine.drop(PAIRS)
        speed.notes.append(f"{case.name}: samples were thrown away, the GPU was throttled ({throttled})")
        return ""
    if name := ours.changed_code:
        return f"the code of {name} was changed in the worker, so its clock cannot be believed"
    if ours.threads > theirs.threads:
        return "threads of the submission outlive its call, so its work may not be over when its time is"
    return fits_device(exercise.bytes_moved(case.size), base, mine, device) or fits_clock(base, mine)


def _speed_case(exercise: Exercise, case: Case, base: Samples, mine: Samples) -> SpeedCase:
    ratio = ratio_interval(base.events, mine.events)
    return SpeedCase(
        name=case.name,
        sizes=dict(case.sizes),
        baseline_seconds=float(np.median(base.events)),
        seconds=float(np.median(mine.events)),
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        bytes=exercise.bytes_moved(case.size),
        note=mine.clocks,
        baseline_samples=list(base.events),
        samples=list(mine.events),
    )


def _out_of_order(exercise: Exercise, case: Case, ours: GpuSession, seed: str) -> str:
    """A sentence when the call's work does not wait for what was on its stream before."""
    call = exercise.inputs(case.size, Random(seed, "cuda"))
    buffers = {name: SharedBuffer(tensor) for name, tensor in call.buffers.items()}
    try:
        if ours.waits_for_stream(exercise.entry, call, buffers, CALL_SECONDS):
            return ""
        return (
            "outputs are written while the stream that was given still waits: the work is not on that stream "
            "and cannot be timed. Launch on the stream, or make other streams wait for it and it for them"
        )
    finally:
        ours.forget(buffers)
        for buffer in buffers.values():
            buffer.free()


def _take_turns(
    exercise: Exercise,
    case: Case,
    theirs: tuple[GpuSession, Samples],
    ours: tuple[GpuSession, Samples],
    seed: str,
    deadline: float,
) -> str:
    """Pairs of timed calls on fresh inputs, in shuffled order; a sentence when an output is wrong."""
    order = random.Random(seed)
    size = case.size
    buffers: dict[str, SharedBuffer] = {}
    try:
        for turn in range(PAIRS + 2):  # the first two load modules and make contexts
            call = exercise.inputs(size, Random(seeds.derive(seed, turn), "cuda"))
            buffers = buffers or {name: SharedBuffer(tensor) for name, tensor in call.buffers.items()}
            wanted = None
            for session, samples in order.sample((theirs, ours), 2):
                _refill(buffers, call)
                outcome = session.call(exercise.entry, call, buffers, CALL_SECONDS, timed=True)
                if not outcome.ok and session is theirs[0]:
                    raise CourseError(f"the baseline failed at {case.name}: {outcome.message}")
                if not outcome.ok:
                    return f"it failed while it was timed: {outcome.message}"
                after = {name: buffer.tensor() for name, buffer in buffers.items()}
                wanted = wanted or expected(exercise, size, call)
                wrong = difference(exercise, size, call, wanted, after)
                if wrong is not None:
                    return f"it went wrong while it was timed: {wrong.message}"
                if turn >= 2:
                    samples.events.append(session.timing.seconds)
                    samples.settled.append(session.timing.settled)
            if time.monotonic() > deadline and turn >= 12:
                break
        _time_batches(exercise, call, buffers, theirs, ours)
    finally:
        for session, _ in (theirs, ours):
            session.forget(buffers)
        for buffer in buffers.values():
            buffer.free()
    return ""


def _time_batches(
    exercise: Exercise,
    call: Call,
    buffers: dict[str, SharedBuffer],
    theirs: tuple[GpuSession, Samples],
    ours: tuple[GpuSession, Samples],
) -> None:
    """Both sides in turns, many calls at a time, by both clocks."""
    for _ in range(_BATCHES):
        for session, samples in (theirs, ours):
            times = session.time_many(exercise.entry, call, buffers, CALL_SECONDS, _CALLS_IN_A_BATCH)
            samples.batches.append(times or (0.0, 0.0))


def _refill(buffers: dict[str, SharedBuffer], call: Call) -> None:
    for name, tensor in call.buffers.items():
        buffers[name].write(tensor)
