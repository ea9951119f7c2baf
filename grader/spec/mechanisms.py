"""Mechanisms that exercises ask for, judged from evidence that the student's code cannot change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common.build.resources import KernelResources
from common.virtual_gpu.report import SECTOR_BYTES
from grader.spec import Size
from grader.spec.evidence import Evidence
from grader.words import numbers


@dataclass(frozen=True)
class Launches:
    """The call makes exactly this many kernel launches and no copies by the runtime."""

    exactly: int

    @property
    def name(self) -> str:
        return f"{self.exactly} launch" + ("" if self.exactly == 1 else "es")

    def look(self, evidence: Evidence) -> str | None:
        if len(evidence.launches) == self.exactly and evidence.runtime_copies == 0:
            return None
        return self._sentence(evidence)

    def look_anywhere(self, evidence: Evidence) -> str | None:
        """A call with nothing to do may launch nothing."""
        if len(evidence.launches) <= self.exactly and evidence.runtime_copies == 0:
            return None
        return self._sentence(evidence)

    def _sentence(self, evidence: Evidence) -> str:
        seen = [launch.kernel for launch in evidence.launches]
        copies = numbers.counted(evidence.runtime_copies, "copy", "copies")
        beside = f" and {copies} by the runtime" if evidence.runtime_copies else ""
        names = ", ".join(seen) or "none"
        launches = numbers.counted(len(seen), "kernel launch", "kernel launches")
        return f"{launches} ({names}){beside}, expected {self.exactly} ({evidence.case.name})"


@dataclass(frozen=True)
class AsyncCopies:
    """cp.async moves at least this many bytes from global to shared memory, and plain loads read few other
    bytes, however often: what they did not read came by cp.async. `most_loaded` counts whole sectors."""

    least_bytes: Callable[[Size], int]
    most_loaded: Callable[[Size], int]
    name: str = "cp.async moves the data"
    remedy: str = "load the rows with __pipeline_memcpy_async, or cp.async in inline PTX"

    def look(self, evidence: Evidence) -> str | None:
        moved = sum(
            launch.counters.async_bytes + launch.counters.bulk_load_bytes for launch in evidence.launches
        )
        wanted = self.least_bytes(evidence.case.size)
        loaded = SECTOR_BYTES * sum(launch.distinct_plain_load_sectors for launch in evidence.launches)
        most = self.most_loaded(evidence.case.size)
        if moved >= wanted and loaded <= most:
            return None
        if moved >= wanted:
            return (
                f"plain loads read {loaded:,} bytes beside cp.async where at most {most:,} are needed "
                f"({evidence.case.name}): use what cp.async brought to shared memory"
            )
        return (
            f"cp.async moved {moved:,} bytes of the {wanted:,} that this case ({evidence.case.name}) has to "
            f"move: {self.remedy}"
        )


@dataclass(frozen=True)
class StoresWhileCopying:
    """At least this many bytes of cp.async are in flight while their warp waits for earlier copies and stores
    what these brought."""

    least_bytes: Callable[[Size], int]
    name: str = "stores run beside copies"

    def look(self, evidence: Evidence) -> str | None:
        seen = sum(launch.counters.async_overlapped_bytes for launch in evidence.launches)
        wanted = self.least_bytes(evidence.case.size)
        if seen >= wanted:
            return None
        return (
            f"{seen:,} bytes of cp.async were in flight while their warp stored what earlier copies had "
            f"brought, where at least {wanted:,} should ({evidence.case.name}): start all copies, as two "
            "groups, wait for the first alone, store it, then wait for the second"
        )


@dataclass(frozen=True)
class CopiesAhead:
    """Most bytes of cp.async are in flight while their warp multiplies: a copy starts before matrix
    instructions and is waited for after them.

    A block's first copies cannot overlap with products, so only calls of a size that `shows` are examined.
    """

    shows: Callable[[Size], bool]
    least_part: float = 0.5
    name: str = "copies run ahead of the products"

    def look(self, evidence: Evidence) -> str | None:
        if not self.shows(evidence.case.size):
            return None
        waited = sum(launch.counters.async_waited_bytes for launch in evidence.launches)
        ahead = sum(launch.counters.async_ahead_bytes for launch in evidence.launches)
        if waited > 0 and ahead >= self.least_part * waited:
            return None
        if waited == 0:
            return (
                f"no wait for a cp.async was seen ({evidence.case.name}): bring the next tile with cp.async "
                "while you multiply this one"
            )
        return (
            f"{ahead:,} of {waited:,} bytes of cp.async ({evidence.case.name}) were in flight while "
            f"their warp multiplied, where at least {self.least_part:.0%} should: {_idle_wait(evidence)} "
            "waits for copies with no product since they started. Start to copy the next tile before the "
            "products of this one, and wait for it after them: a wait may leave the newest groups in flight"
        )

    def look_anywhere(self, evidence: Evidence) -> str | None:
        return self.look(evidence)


def _idle_wait(evidence: Evidence) -> str:
    """The line that waits for most of the bytes that did not overlap with products."""
    lines = [line for launch in evidence.launches for line in launch.lines]
    idle = max(
        lines,
        key=lambda line: line.counters.async_waited_bytes - line.counters.async_ahead_bytes,
        default=None,
    )
    return f"{Path(idle.file).name}:{idle.line}" if idle else "the kernel"


def spills_of(kernel: KernelResources, where: str = "") -> str:
    """What to say of a kernel that spills; empty for others."""
    spilled = kernel.spill_stores + kernel.spill_loads
    if not spilled:
        return ""
    return (
        f"ptxas spills {spilled} bytes of {kernel.demangled} for {kernel.arch}{where}: its "
        f"{kernel.registers} registers are not enough. Keep fewer values at a time (unroll less, load or "
        "compute a value where it is used), or let __launch_bounds__ ask for fewer blocks"
    )


@dataclass(frozen=True)
class NoSpills:
    """ptxas kept every value in registers."""

    name: str = "no register spills"

    def look(self, evidence: Evidence) -> str | None:
        return next((said for kernel in evidence.resources if (said := spills_of(kernel))), None)


@dataclass(frozen=True)
class SharedAtMost:
    """A block takes at most this many bytes of shared memory."""

    bytes: int

    @property
    def name(self) -> str:
        return f"at most {self.bytes:,} bytes of shared memory"

    def look(self, evidence: Evidence) -> str | None:
        most = max((launch.static_shared + launch.dynamic_shared for launch in evidence.launches), default=0)
        return None if most <= self.bytes else f"a block takes {most:,} bytes of shared memory"


@dataclass(frozen=True)
class RoundTripsAtMost:
    """On the longest path through the kernel, a thread waits for memory at most this many times in a row."""

    most: int

    @property
    def name(self) -> str:
        return f"at most {self.most} dependent trips to memory"

    def look(self, evidence: Evidence) -> str | None:
        seen = max((launch.cost.round_trips for launch in evidence.launches), default=0)
        if seen <= self.most:
            return None
        return (
            f"a thread waits {seen} times in a row for global memory where {self.most} suffice "
            f"({evidence.case.name}): start all loads before the first store"
        )


@dataclass(frozen=True)
class SectorsAtMost:
    """Loads, stores and copies together touch at most this many 32-byte sectors of global memory."""

    most: Callable[[Size], int]
    name: str = "no more sectors than needed"

    def look(self, evidence: Evidence) -> str | None:
        counted = sum(
            c.global_load_sectors
            + c.global_store_sectors
            + c.async_sectors
            + c.bulk_load_sectors
            + c.bulk_store_sectors
            for c in (launch.counters for launch in evidence.launches)
        )
        wanted = self.most(evidence.case.size)
        if counted <= wanted:
            return None
        return (
            f"{counted:,} sectors of 32 bytes were requested where {wanted:,} suffice "
            f"({evidence.case.name}): use wider, aligned accesses"
        )
