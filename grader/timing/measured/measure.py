"""Speed on a GPU: baseline, submission and other sides that targets name, interleaved, on fresh inputs, all
answers checked. Steps are timed alone.

Event times come from the worker, where a submission could tamper with them. So they are compared with this
process's own clock: time that the events claim to save must be saved there, too.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from common.core.progress import Notify
from common.gpu.clocks import exclusive, read_clocks
from common.gpu.support import time_copy, time_empty_graph, time_nothing
from grader.devices.on_gpu.session import GpuSession
from grader.devices.on_gpu.timed import time_idle
from grader.records.record import Speed, SpeedCase
from grader.spec import BASELINE, CopyBandwidth, Exercise, HostTime, Step, seeds
from grader.timing.measured.comparison import NotTimed, Side, WentWrong
from grader.timing.measured.graph_trial import trial
from grader.timing.measured.interleaved import time_host_interleaved, time_interleaved
from grader.timing.measured.plausibility import (
    DeviceLimits,
    Samples,
    fits_clock,
    fits_clock_alone,
    fits_device,
    works_on,
)
from grader.timing.measured.stream_order import out_of_order
from grader.timing.speed_cases import COPY, SUBMISSION, Point, cases_of, points_of, speed_case
from grader.timing.targets import decide_bandwidth, decide_host, decide_measured, describe, missed_bandwidth
from grader.timing.timed import how_timed

PAIRS = 64  # timed rounds, if there is time
_LIMIT_SECONDS = 60.0  # in which cases may begin
_CASE_SECONDS = 8.0  # for each case, where that is more in all
_MOST_ROUNDS = 4  # of PAIRS, while a target is too close to call
_COPY_BYTES = 1 << 30
_SMALL_CASE = 1 << 28  # bytes: making and checking larger inputs uses up the time
_REPEATS = 9


class Implausible(Exception):
    """The submission's times do not count; the text explains why."""


def measure(
    exercise: Exercise,
    baseline: Path,
    ours: GpuSession,
    secret: str,
    notify: Notify = lambda text: None,
) -> Speed:
    """Time all cases that targets name, within a minute or 8 s for each; notes name those not reached.
    Ends the session."""
    with exclusive(), GpuSession(baseline) as theirs, ours:
        return _Measurement(exercise, theirs, ours, secret, notify).run()


def copy_bandwidth() -> float:
    """Bytes per second, read and written, of a plain copy on this device now."""
    return 2 * _COPY_BYTES / float(np.median([time_copy(_COPY_BYTES) for _ in range(_REPEATS)]))


def _implausible(point: Point) -> str:
    """A sentence when this process's clock contradicts the events."""
    if point.step is not None:
        return fits_clock_alone(point.mine)
    return fits_clock(point.samples[BASELINE], point.mine)


class _Measurement:
    """One submission against everything that its exercise's targets name."""

    def __init__(
        self,
        exercise: Exercise,
        theirs: GpuSession,
        ours: GpuSession,
        secret: str,
        notify: Notify,
    ) -> None:
        self._exercise, self._secret, self._notify = exercise, secret, notify
        self._theirs, self._ours = theirs, ours
        self._points = [point for point in points_of(exercise) if point.step is None or ours.has_steps]
        self._started = time.monotonic()
        self._limit = max(_LIMIT_SECONDS, _CASE_SECONDS * len(self._points))
        self._deadline = self._started + self._limit
        self._empty: dict[int, float] = {}  # seconds of empty kernels, by their number
        self._idle = Samples()
        self._host_cases: list[SpeedCase] = []
        self.speed = Speed(modelled=False)

    def run(self) -> Speed:
        speed, points = self.speed, self._points
        self._notify(
            f"measuring {len(points)} cases, about {len(points) * 2} s; none starts after {self._limit:.0f} s"
        )
        speed.copy_bandwidth = copy_bandwidth()
        if problem := self._cannot_be_timed():
            speed.notes.append(problem)
            return speed
        try:
            self._measure_host()
            for round_number in range(_MOST_ROUNDS):
                round_started = time.monotonic()
                self._measure_round(round_number)
                self._decide()
                took = time.monotonic() - round_started
                close = any(target.decision == "undecided" for target in speed.targets)
                if not close or time.monotonic() + took > self._deadline:
                    break
                self._notify("too close to call: measuring longer")
        except Implausible as problem:
            speed.notes.append(str(problem))
            speed.targets = []
            return speed
        protocols = sorted({point.protocol for point in points})
        speed.notes.append(
            f"measured for {time.monotonic() - self._started:.0f} s, interleaved with the baseline, "
            + how_timed(protocols)
        )
        of_steps = [t for t in self._exercise.targets if isinstance(t, CopyBandwidth) and t.step]
        if of_steps and not self._ours.has_steps:
            speed.notes.append(f"only in a kernel.cu: {'; '.join(map(describe, of_steps))}")
        return speed

    def _cannot_be_timed(self) -> str:
        """A sentence when the submission's work is not on the timed stream. Checked at one case of each
        kind."""
        seed = seeds.derive(self._secret, "order")
        exercise, ours = self._exercise, self._ours
        for point in self._points:
            if point.step is not None:
                point.failed = out_of_order(point.step, point.case, ours, seed)
        whole = [point for point in self._points if point.step is None]
        if not whole:
            return ""
        if problem := out_of_order(exercise, whole[0].case, ours, seed):
            return problem
        in_graph = next((point.case for point in whole if point.protocol == "graph"), None)
        return trial(exercise, in_graph, ours, seed) if in_graph is not None else ""

    def _measure_round(self, round_number: int) -> None:
        """The smallest cases first: if time runs out, one large case is left out, not many small ones."""
        points = sorted((point for point in self._points if not point.failed), key=self._moved)
        for number, point in enumerate(points):
            if time.monotonic() > self._deadline:
                if missing := [p.name for p in points if not p.mine.events]:
                    self.speed.notes.append(f"no time was left for {', '.join(missing)}")
                return
            self._notify(f"measuring {point.name} ({number + 1} of {len(points)})")
            weights = [_SMALL_CASE + self._moved(one) for one in points[number:]]
            left = (self._deadline - time.monotonic()) * weights[0] / sum(weights)
            seed = seeds.derive(self._secret, "speed", round_number, number)
            self._measure_point(point, seed, time.monotonic() + left)

    def _moved(self, point: Point) -> int:
        """Bytes moved by a call."""
        return (point.step or self._exercise).moved(point.case)

    def _measure_point(self, point: Point, seed: str, deadline: float) -> None:
        exercise, name = self._exercise, point.name
        had = len(point.mine.events)
        before = read_clocks()
        try:
            time_interleaved(
                point.step or exercise,
                point.case,
                point.protocol,
                {side: self._side(side) for side in point.samples},
                point.samples,
                seed,
                turns=PAIRS,
                deadline=deadline,
                elsewhere=exercise.elsewhere(point.case) if point.step is None else {},
                judged=SUBMISSION,
                unchecked=exercise.yardsticks,
                outside=[side for side in (BASELINE, SUBMISSION) if side in point.samples],
                lingers=lambda: self._lingers(point),
                doubted=lambda: _implausible(point),
            )
        except WentWrong as problem:
            if point.step is not None:  # the rest is timed without it
                point.failed = str(problem)
                return
            self.speed.wrong[name] = str(problem)
            raise Implausible(f"{name}: {problem}") from problem
        except NotTimed as problem:
            raise Implausible(f"{name}: {problem}") from problem
        after = read_clocks()
        point.mine.clocks = f"SM clock {before.sm_mhz} to {after.sm_mhz} MHz"
        if throttled := before.throttled or after.throttled:
            for samples in point.samples.values():
                samples.keep(had)
            self.speed.notes.append(f"{name}: samples were discarded, the GPU was throttled ({throttled})")
        elif doubt := self._doubt(point):
            raise Implausible(f"{name}: {doubt}")

    def _side(self, side: str) -> Side:
        own: dict[str, GpuSession] = {SUBMISSION: self._ours, BASELINE: self._theirs}
        return own[side] if side in own else self._exercise.rivals[side]

    def _doubt(self, point: Point) -> str:
        if name := self._ours.changed_code:
            return f"the code of {name} was changed in the worker, so its clock does not count"
        if self._ours.threads > self._theirs.threads:
            return "threads of the submission outlive its call, so it may still work after its time was taken"
        moved = self._moved(point) * point.mine.calls
        device = DeviceLimits(self.speed.copy_bandwidth, self._empty_seconds(point))
        return fits_device(moved, point.mine, device) or self._lingers(point) or _implausible(point)

    def _lingers(self, point: Point) -> str:
        return works_on(point.samples.get(BASELINE) or self._idle_samples(), point.mine)

    def _idle_samples(self) -> Samples:
        """Empty timings in the baseline's worker, which is started for this: a step has no other measure of
        the delay after a stream is done."""
        while len(self._idle.events) < _REPEATS:
            timing = time_idle(self._theirs)
            self._idle.events.append(timing.seconds)
            self._idle.tails.append(timing.settled - timing.seconds)
        return self._idle

    def _empty_seconds(self, point: Point) -> float:
        """As many empty kernels as there are calls, timed like the point."""
        calls = point.mine.calls if point.protocol == "graph" else 0
        if calls not in self._empty:
            times = [time_empty_graph(calls) if calls else time_nothing() for _ in range(_REPEATS)]
            self._empty[calls] = float(np.median(times))
        return self._empty[calls]

    def _measure_host(self) -> None:
        for target in self._exercise.targets:
            if not isinstance(target, HostTime):
                continue
            for name in target.cases:
                self._notify(f"measuring the host's time at {name}")
                case = self._exercise.bench_case(name)
                sides: dict[str, Side] = {
                    SUBMISSION: self._ours,
                    target.against: self._side(target.against),
                }
                seed = seeds.derive(self._secret, "host", name)
                try:
                    times = time_host_interleaved(
                        self._exercise,
                        case,
                        sides,
                        seed,
                        elsewhere=self._exercise.elsewhere(case),
                        judged=SUBMISSION,
                        unchecked=self._exercise.yardsticks,
                    )
                except (WentWrong, NotTimed) as problem:
                    self.speed.wrong[name] = str(problem)
                    raise Implausible(f"{name}: {problem}") from problem
                theirs, mine = times[target.against], times[SUBMISSION]
                moved = self._exercise.moved(case)
                self._host_cases.append(speed_case(name, case, moved, "host", target.against, theirs, mine))

    def _decide(self) -> None:
        speed = self.speed
        speed.cases = [
            case
            for point in self._points
            for case in cases_of(self._exercise, point, speed.copy_bandwidth)
            if not point.failed
        ] + self._host_cases
        speed.targets = []
        for target in self._exercise.targets:
            if isinstance(target, CopyBandwidth):
                self._decide_bandwidth(target)
                continue
            protocol = "host" if isinstance(target, HostTime) else target.protocol
            by_name = self._found(protocol, target.against)
            if not all(name in by_name for name in target.cases):
                continue
            if isinstance(target, HostTime):
                speed.targets.append(decide_host(target, by_name))
            else:
                speed.targets.append(decide_measured(target, by_name))

    def _decide_bandwidth(self, target: CopyBandwidth) -> None:
        speed, found = self.speed, self._found("cold", BASELINE).get(target.case)
        if target.step:
            point = self._point(self._exercise.step(target.step), target.case)
            if point is not None and point.failed:
                speed.targets.append(missed_bandwidth(target, point.failed))
                return
            found = self._found("cold", COPY).get(point.name) if point is not None else None
        if found is not None:
            speed.targets.append(decide_bandwidth(target, found, speed.copy_bandwidth))

    def _point(self, step: Step, case: str) -> Point | None:
        return next((p for p in self._points if p.step is step and p.case.name == case), None)

    def _found(self, protocol: str, against: str) -> dict[str, SpeedCase]:
        return {c.name: c for c in self.speed.cases if (c.protocol, c.against) == (protocol, against)}
