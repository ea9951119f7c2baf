"""Compiles configurations in other processes, ahead of the timing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from common.build.compile import parallel_jobs
from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.build.resources import KernelResources, resources, resources_of
from common.core.errors import CourseError
from grader.building.build import HEADERS
from grader.tuning import gates
from grader.tuning.gates import Footprint, Multiprocessor, Refusal
from grader.tuning.spec import Config, Limits


@dataclass(frozen=True)
class Order:
    """A configuration to build, with a block's resources as far as they are known before; `kernel` is the
    start of the name of the kernel whose registers count."""

    source: Path
    target: Target
    config: Config
    kernel: str
    before: Footprint
    limits: Limits
    sm: Multiprocessor


@dataclass(frozen=True)
class Built:
    """The result of an order: a library, or the gate that refused it, or its problem."""

    taken: Footprint
    library: Path | None = None
    refusal: Refusal | None = None
    problem: str = ""
    occupancy: float = 0.0
    kernels: tuple[KernelResources, ...] = field(default=(), repr=False)


class Builder:
    """Builds on all CPUs but one, which is left for the timing, unless times are modelled. A process that
    grades for a class must have no such processes: there, threads build, and end with it."""

    def __init__(self, *, modelled: bool) -> None:
        self.at_once = max(1, parallel_jobs() - (not modelled))
        self._over: Event | None = None
        self._pool: Executor
        if multiprocessing.current_process().daemon:
            self._pool = ThreadPoolExecutor(self.at_once)
            return
        context = multiprocessing.get_context("spawn")
        self._over = context.Event()
        self._pool = ProcessPoolExecutor(
            self.at_once, mp_context=context, initializer=_become_a_builder, initargs=(self._over,)
        )

    def start(self, order: Order) -> Future[Built]:
        return self._pool.submit(build, order)

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop builds in progress: Python would wait half a minute for them."""
        if self._over is not None:
            self._over.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _become_a_builder(over: Event) -> None:
    """Print nothing, because the search shows its own progress, and end when the search sets `over`, also
    after Ctrl-C. A compiler ends with the process that called it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(over,), daemon=True).start()


def _end_with(over: Event) -> None:
    over.wait()
    os._exit(0)


def build(order: Order) -> Built:
    """The compiler's errors become text, which can be passed between processes."""
    try:
        return _build(order)
    except BuildError as problem:
        return Built(order.before, problem=f"it does not compile: {problem}")


def _build(order: Order) -> Built:
    """For a GPU, machine code is made first: if its registers are refused, nothing more is built. For the
    virtual GPU the library comes first, because ptxas needs only the PTX inside it."""
    arch, flags = f"sm_{order.target.cc}", _flags(order)
    if order.target.on_virtual:
        kernels = resources_of(_library(order), order.source, arch, **flags)
    else:
        kernels = resources(order.source, arches=[arch], **flags)[arch]
    used = _used(kernels, order)
    taken = Footprint(
        order.before.threads,
        order.before.shared + used.shared,
        used.registers,
        used.spill_stores + used.spill_loads,
    )
    reached = gates.occupancy(taken, order.sm)
    if refusal := gates.after_build(taken, order.limits, order.sm):
        return Built(taken, refusal=refusal, occupancy=reached)
    return Built(taken, _library(order), occupancy=reached, kernels=tuple(kernels))


def _library(order: Order) -> Path:
    return build_program([order.source], order.target, kind="shared", **_flags(order)).path


def _flags(order: Order) -> dict[str, Any]:
    defines = [f"{name}={value}" for name, value in order.config.items()]
    return {"defines": defines, "include_dirs": [HEADERS]}


def _used(kernels: Sequence[KernelResources], order: Order) -> KernelResources:
    for kernel in kernels:
        if kernel.demangled.removeprefix("void ").startswith(order.kernel):
            return kernel
    known = "; ".join(kernel.demangled for kernel in kernels) or "none"
    raise CourseError(f"{order.source} has no kernel {order.kernel!r}; its kernels are: {known}")
