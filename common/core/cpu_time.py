"""Limits in time that mean the same on a busy machine and on an idle one.

A wall clock also counts the time in which other programs have the CPU. Here the time of a process is what it
ran and what it slept, without what it waited for a CPU (the second figure in /proc/PID/task/TID/schedstat).
So a loop and a sleep without end are stopped as soon as by a wall clock, and a process that is right but gets
a fifth of a CPU has five times as long.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

COUNTED = "of CPU time and sleep"  # behind a number of seconds
_STARVED_FACTOR = 20.0  # as many times its limit on the wall clock, and a wait is given up all the same
_FIRST_LOOK_SECONDS = 0.05  # most waits are over before anybody has to look
_LOOK_SECONDS = 0.1
_NANO = 1e-9

Pids = Callable[[], Iterable[int]]


class OutOfTime(TimeoutError):
    """A limit is over. `starved`: the process did not have its time; the machine gave it too little CPU."""

    def __init__(self, limit: TimeLimit) -> None:
        super().__init__(f"not done within {limit.seconds:g} s {COUNTED}")
        self.starved = limit.starved
        self.got = limit.got


@dataclass(frozen=True)
class ThreadTimes:
    """Seconds that a thread has run and has waited for a CPU, how often it went to sleep, and whether it is
    ready to run just now."""

    ran: float
    waited: float
    sleeps: int
    ready: bool


class ProcessClock:
    """The seconds that some processes had together, from now on.

    Of an interval, the part in which none of their threads was ready counts as sleep, in full. Of the rest
    that share counts which their threads ran of the time they could have run. Threads cannot stretch their
    time by crowding each other out: what all of them ran, spread over the CPUs, is the least that counts.
    """

    def __init__(
        self,
        pids: Pids,
        *,
        now: Callable[[], float] = time.monotonic,
        look: Callable[[int], dict[int, ThreadTimes] | None] | None = None,
        cpus: int | None = None,
    ) -> None:
        self._pids, self._now, self._look = pids, now, look or threads_of
        self._cpus = cpus or len(os.sched_getaffinity(0))
        self._known = True  # whether this kernel reports how long threads wait
        self._counted = self._ran = 0.0
        self._at = self._now()
        self._threads = {key: _Thread(times) for key, times in self._looked()}

    def seconds(self) -> float:
        now = self._now()
        passed, self._at = now - self._at, now
        ran = waited = late = 0.0
        for key, times in self._looked():
            # Those that are new began after this clock did.
            thread = self._threads.setdefault(key, _Thread(ThreadTimes(0.0, 0.0, 0, ready=False)))
            its_ran, its_waited = thread.advance(times, passed)
            within = min(its_waited, max(0.0, passed - its_ran))
            ran += its_ran
            waited += within
            late = max(late, its_waited - within)  # of a wait that counted as sleep before
        self._ran += ran
        if self._known:
            ready = min(passed, ran + waited)
            had = ready * ran / (ran + waited) if ready > 0 else 0.0
            self._counted += passed - ready + had - late
        else:
            self._counted += passed * _share_of_a_cpu(self._cpus)
        self._counted = max(self._counted, self._ran / self._cpus)
        return self._counted

    def _looked(self) -> Iterator[tuple[tuple[int, int], ThreadTimes]]:
        for pid in self._pids():
            threads = self._look(pid)
            self._known &= threads is not None
            for thread, times in (threads or {}).items():
                yield (pid, thread), times


class _Thread:
    """What was seen of a thread last. The kernel writes a wait down when it ends. Until then this tells it: a
    thread that is ready, and has not slept since the last look, has waited whenever it did not run."""

    def __init__(self, times: ThreadTimes) -> None:
        self._last, self._waited = times, times.waited

    def advance(self, times: ThreadTimes, passed: float) -> tuple[float, float]:
        """What it ran and waited since then; more than has passed, where a wait ended that was not seen."""
        ran = max(0.0, times.ran - self._last.ran)
        waited = times.waited
        if times.ready and times.sleeps == self._last.sleeps:
            waited = max(waited, self._waited + passed - ran)
        new = max(0.0, waited - self._waited)
        self._last, self._waited = times, max(waited, self._waited)
        return ran, new


class TimeLimit:
    """So many seconds of the processes' own time from now on, and twenty times as many of the wall clock."""

    def __init__(
        self,
        seconds: float,
        pids: Pids,
        *,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[Pids], ProcessClock] = ProcessClock,
    ) -> None:
        self.seconds = seconds
        self.starved = False
        self._pids, self._now, self._make_clock = pids, now, clock
        self._clock: ProcessClock | None = None
        self._before = 0.0  # of the wall clock, until the first look
        self._used = 0.0
        self._began = self._looked = now()

    @property
    def used(self) -> float:
        """Seconds that the processes had so far. What came after the last look counts in full, though no more
        than looks lie apart."""
        return self._used + min(self._now() - self._looked, self._step)

    @property
    def got(self) -> str:
        """What a starved process got, in words."""
        return f"{self._used:.1f} s {COUNTED} in {self._now() - self._began:.0f} s"

    def tick(self) -> float:
        """How long to wait for something else before the next look. The limit cannot be over earlier."""
        return min(self._step, max(0.001, self.seconds - self._used))

    def over(self) -> bool:
        now = self._now()
        if now - self._looked < self.tick():
            return False
        self._looked, wall = now, now - self._began
        if self._clock is None:
            # A look that comes late is a sign of load: what passed until then says nothing of the process.
            self._before, self._clock = min(wall, _FIRST_LOOK_SECONDS), self._make_clock(self._pids)
        self._used = self._before + self._clock.seconds()
        if self._used < self.seconds:
            self.starved = wall >= self.seconds * _STARVED_FACTOR
        return self.starved or self._used >= self.seconds

    def check(self) -> None:
        if self.over():
            raise OutOfTime(self)

    @property
    def _step(self) -> float:
        return _FIRST_LOOK_SECONDS if self._clock is None else _LOOK_SECONDS


def wait_ready(descriptor: int, events: int, limit: TimeLimit) -> None:
    """Until one of poll's `events`, or the end of a connection. Raises OutOfTime."""
    poller = select.poll()
    poller.register(descriptor, events)
    while not poller.poll(limit.tick() * 1000):
        limit.check()


def threads_of(pid: int) -> dict[int, ThreadTimes] | None:
    """What the kernel has written down of every thread; None where it does not say. A process that is gone
    has no threads."""
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return {}
    found = {}
    for name in names:
        try:
            with open(f"/proc/{pid}/task/{name}/status", "rb") as file:
                status = file.read()
            with open(f"/proc/{pid}/task/{name}/schedstat", "rb") as file:
                ran, waited, _ = file.read().split()
            sleeps = int(status.rsplit(b"\nvoluntary_ctxt_switches:", 1)[1].split()[0])
        except ProcessLookupError:
            continue  # it ended just now
        except (OSError, ValueError, IndexError):
            if os.path.exists(f"/proc/{pid}/task/{name}"):
                return None
            continue
        ready = b"\nState:\tR" in status
        found[int(name)] = ThreadTimes(int(ran) * _NANO, int(waited) * _NANO, sleeps, ready)
    return found


def _share_of_a_cpu(cpus: int) -> float:
    """What each program that is ready to run gets now, where the kernel does not say who waits."""
    try:
        with open("/proc/loadavg") as file:
            ready = int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 1.0
    return min(1.0, cpus / max(ready, 1))
