"""Streams as a device may run them: work waits in its stream; without an event, it may run in any order.

A toy of the virtual GPU's rule: work runs only when something waits for it, and of two pieces that may both
run, the later one goes first. Code that relies on an order without an event gets the opposite order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Event:
    """A place in a stream: reached when everything queued there before it has run."""

    after: list[_Work]


@dataclass
class _Work:
    run: Callable[[], object]
    after: list[_Work]
    done: bool = False

    def finish(self) -> None:
        """Finishes the work that it waits for, latest first; then runs."""
        if self.done:
            return
        for before in reversed(self.after):
            before.finish()
        self.done = True
        self.run()


@dataclass
class LazyStreams:
    """Streams by number. `host_waits` counts how often the host waited."""

    host_waits: int = 0
    _last: dict[int, list[_Work]] = field(default_factory=dict)

    def queue(self, stream: int, run: Callable[[], object]) -> None:
        self._last[stream] = [_Work(run, self._last.get(stream, []))]

    def record(self, stream: int) -> Event:
        return Event(list(self._last.get(stream, [])))

    def wait(self, stream: int, event: Event) -> None:
        """Work queued in the stream from now on runs after the event."""
        self._last[stream] = [*self._last.get(stream, []), *event.after]

    def synchronise(self, stream: int) -> None:
        """The host waits for all work queued there."""
        self.host_waits += 1
        for work in reversed(self._last.get(stream, [])):
            work.finish()
