"""One side of a timing comparison at one case: a kernel's call in a worker, or a library's call in this
process.

Times of a worker are only read here; timing/measured/plausibility.py checks them.
"""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from common.build.engine.error_names import error_name
from common.core.errors import CourseError
from common.gpu.support import begin_timing, end_timing
from common.worker.process import Order
from grader.devices.failures import CallFailed
from grader.devices.on_gpu.arena import Arena
from grader.devices.on_gpu.session import GpuSession
from grader.spec import Call, OnBuffers, Size

SECONDS = 20.0  # for all orders of one request to a worker
_IDLE_TIMES = 3  # the least of them is the overhead without disturbances
_LEAST_HOST = 1e-8  # seconds: the subtracted overhead is noisy, and no call takes less than zero


@dataclass(frozen=True)
class Timing:
    """Seconds on the device until the stream was done, and from then until the device was idle."""

    seconds: float
    settled: float


class Timed(ABC):
    """One side of a measurement, which can be timed repeatedly on the arena's contents."""

    @abstractmethod
    def time(self) -> Timing:
        """Raises CallFailed when a worker fails."""

    @abstractmethod
    def time_host(self, count: int) -> float:
        """The host's seconds per call, over `count` calls without waiting for any. Raises CallFailed."""

    @abstractmethod
    def close(self) -> None: ...


class InWorker(Timed):
    """Timed in a worker, by its trusted library."""

    def __init__(self, session: GpuSession, entry: str, call: Call, arena: Arena) -> None:
        """`call` is the arena's first call."""
        self._session, self._entry, self._call, self._arena = session, entry, call, arena

    @abstractmethod
    def _orders(self) -> list[Order]:
        """Start the clock, run, stop the clock."""

    def _idle_orders(self) -> list[Order]:
        """The same orders without the calls, to measure overhead."""
        begin, _, end = self._orders()
        return [begin, end]

    def time(self) -> Timing:
        trusted = self._session.trusted
        *codes, stop, settled = self._session.ask(
            self._entry,
            SECONDS,
            lambda: [*self._orders(), trusted("stop_nanoseconds"), trusted("settled_nanoseconds")],
            [self._arena.buffer],
        )
        self._must_be_success(*codes)
        return Timing(stop * 1e-9, settled * 1e-9)

    def time_many(self, count: int) -> tuple[float, float] | None:
        """Seconds by this process's clock, and the median by events, over `count` repetitions in a row.

        All repetitions are one request, so that the round trip to the worker hardly counts. The overhead of
        reading orders and of timing is measured alone and subtracted: it differs from process to process, and
        with the arguments. None when it failed.
        """
        session = self._session

        def timed(*, idle: bool) -> list[Order]:
            orders = self._idle_orders() if idle else self._orders()
            return [*orders, session.trusted("stop_nanoseconds")] * count

        try:
            session.ask(self._entry, SECONDS, lambda: timed(idle=True), ())
            empty = session.asked_seconds
            answers = session.ask(self._entry, SECONDS, lambda: timed(idle=False), ())
        except CourseError:
            return None
        return (session.asked_seconds - empty) / count, statistics.median(answers[3::4]) * 1e-9

    def time_host(self, count: int) -> float:
        """By this process's clock; the overhead of calling any entry point is subtracted."""
        session, entry, buffers = self._session, self._entry, [self._arena.buffer]
        empty = []
        for _ in range(_IDLE_TIMES):
            session.ask(entry, SECONDS, lambda: [replace(self._one(idle=True), times=count)], ())
            empty.append(session.asked_seconds)
        codes = session.ask(entry, SECONDS, lambda: [replace(self._one(), times=count)], buffers)
        busy = session.asked_seconds
        codes += session.ask(entry, SECONDS, lambda: [session.trusted("settle")], buffers)
        self._must_be_success(*codes)
        return max(_LEAST_HOST, (busy - min(empty)) / count)

    def close(self) -> None:
        self._session.forget(self._arena.buffer)

    def _one(self, *, idle: bool = False) -> Order:
        """The first call, alone on the default stream."""
        base = self._session.opened(self._arena.buffer)
        return self._session.order(
            self._entry, self._call, lambda name: self._arena.address(base, 0, name), idle=idle
        )

    def _must_be_success(self, *codes: int) -> None:
        if code := next((code for code in codes if code), 0):
            self._session.close()
            raise CallFailed("error", f"{self._entry} returned {error_name(code)} ({code})")


class WorkerCall(InWorker):
    """One call in a worker, from a cold L2."""

    def _orders(self) -> list[Order]:
        trusted = self._session.trusted
        return [trusted("begin_timing"), self._one(), trusted("end_timing")]

    def _idle_orders(self) -> list[Order]:
        trusted = self._session.trusted
        return [trusted("begin_timing"), self._one(idle=True), trusted("end_timing")]


def time_idle(session: GpuSession) -> Timing:
    """An empty timing in a worker: the overhead of its clocks."""
    names = ("begin_timing", "end_timing", "stop_nanoseconds", "settled_nanoseconds")
    *_, stop, settled = session.ask(
        "timing nothing", SECONDS, lambda: [session.trusted(name) for name in names], ()
    )
    return Timing(stop * 1e-9, settled * 1e-9)


class TorchCall(Timed):
    """A library's call in this process, where no submission's code runs."""

    def __init__(self, function: OnBuffers, size: Size, arena: Arena) -> None:
        self._function, self._size = function, size
        self._buffers = arena.views(arena.now(), 0)

    def time(self) -> Timing:
        begin_timing()
        self._function(self._size, self._buffers)
        seconds = end_timing()
        return Timing(seconds, seconds)

    def time_host(self, count: int) -> float:
        import torch

        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            self._function(self._size, self._buffers)
        seconds = time.perf_counter() - started
        torch.cuda.synchronize()
        return seconds / count

    def close(self) -> None:
        self._buffers = {}
