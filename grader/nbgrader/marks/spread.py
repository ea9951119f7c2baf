"""Spreads work over processes that know all that this one knows, since they are forked."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from common.sandbox.walls import die_with_parent

_FORK = multiprocessing.get_context("fork")
T = TypeVar("T")
R = TypeVar("R")


def one_at_a_time() -> Any:
    """A lock for `work` to hold."""
    return _FORK.Lock()


def spread(tasks: Sequence[T], work: Callable[[T], R], processes: int) -> Iterator[tuple[T, R | None]]:
    """Every task with its result, as they come, or with None where the process ended that had the task."""
    if processes < 2:
        for task in tasks:
            yield task, work(task)
        return
    started: dict[Connection, tuple[BaseProcess, list[T]]] = {}
    try:
        for number in range(processes):
            mine = list(tasks[number::processes])
            started.update(_start(mine, work))
        while started:
            for ready in wait(list(started)):
                assert isinstance(ready, Connection)
                process, left = started[ready]
                try:
                    result = ready.recv()
                except EOFError:
                    process.join()
                    del started[ready]
                    yield from ((task, None) for task in left)
                else:
                    yield left.pop(0), result
    finally:
        for process, _ in started.values():
            process.kill()
            process.join()


def _start(tasks: list[T], work: Callable[[T], R]) -> dict[Connection, tuple[BaseProcess, list[T]]]:
    receives, sends = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_do_all, args=(tasks, work, sends, os.getpid()), daemon=True)
    with warnings.catch_warnings():
        # A client of a cluster that has ended may have left a thread; no process here uses what it used.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sends.close()  # so that the end of the process is the end of the pipe
    return {receives: (process, tasks)}


def _do_all(tasks: list[T], work: Callable[[T], R], sends: Connection, parent: int) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, too, and ends this process
    for task in tasks:
        sends.send(work(task))
