"""What the virtual GPU counts in one call of V2, of every step and of V3: one row for each.

Counts are the same on every machine. One head of 512 rows suffices, because all heads are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.flash.kernels import case_of
from benchmarks.flash.shapes import MAIN_LENGTH, Shape
from benchmarks.flash.ways import KernelWay, kernel_ways
from benchmarks.output.markdown import table
from common.core.errors import CourseError
from common.virtual_gpu.report import Counters, Launch
from grader.building.libraries import Libraries
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.spec.random_inputs import Random

COUNTED = Shape(1, 1, MAIN_LENGTH)
_SECONDS = 120.0


def _count(figure: Callable[[Counters], int]) -> Callable[[Launch], str]:
    return lambda launch: f"{figure(launch.counters):,}"


FIGURES: dict[str, Callable[[Launch], str]] = {
    "warp instructions": _count(lambda seen: seen.warp_instructions),
    "on the tensor cores": _count(lambda seen: seen.matrix_instructions),
    "KB loaded through registers": _count(lambda seen: seen.global_load_bytes // 1000),
    "KB by cp.async": _count(lambda seen: seen.async_bytes // 1000),
    "stores to shared memory": _count(lambda seen: seen.shared_store_requests),
    "loads from it": _count(lambda seen: seen.shared_load_requests),
    "bank conflicts": _count(lambda seen: seen.shared_store_conflicts + seen.shared_load_conflicts),
    "barriers, by warp": _count(lambda seen: seen.barriers),
    "registers per thread": lambda launch: str(launch.registers),
    "warps on an SM": lambda launch: str(launch.occupancy.warps_per_sm),
}


def launches() -> dict[str, Launch]:
    """By kernel, in the order of the ladder."""
    found: dict[str, Launch] = {}
    with scratch_folder() as scratch:
        built: dict[tuple[Path, tuple[str, ...]], Libraries] = {}
        for number, way in enumerate(kernel_ways()):
            key = (way.source, way.defines)
            if key not in built:
                folder = scratch / str(number)
                built[key] = VirtualDevice().compile(way.source, folder, way.defines)
            found[way.name] = _launch(way, built[key])
    return found


def _launch(way: KernelWay, built: Libraries) -> Launch:
    call = way.task.inputs(case_of(COUNTED).size, Random("counters"))
    with VirtualDevice().measuring_session(built) as session:
        outcome = session.run(way.task.entry, call, _SECONDS)
    if not outcome.ok:
        raise CourseError(f"{way.name} failed on the virtual GPU: {outcome.message}")
    (launch,) = outcome.report.launches
    return launch


def flash_counters() -> str:
    """One row per kernel."""
    rows = [[name, *(show(launch) for show in FIGURES.values())] for name, launch in launches().items()]
    return table(["", *FIGURES], rows)
