"""A file as libraries for the devices it will run on, and workers that hold them."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common.build.program import Target
from common.build.resources import KernelResources, write_for_engine
from common.core.background import begin
from common.core.errors import CourseError
from common.gpu.devices import first_gpu
from grader.devices.session import Session
from grader.devices.virtual import VirtualSession
from grader.pipeline.stages.build import ARCHITECTURE, Built, build, kernel_resources
from grader.pipeline.suspicion import wanted_symbols

# Host code that calls one of these gets an answer that depends on how many registers a kernel has.
_ASKS_FOR_REGISTERS = re.compile(
    r"cudaOccupancy|cudaFuncGetAttributes|cudaLaunchCooperative|cudaLaunchKernelEx"
)


@dataclass
class Libraries:
    """What the compiler made of a file. ptxas may still be at work on it: whoever needs its figures waits."""

    built: dict[str, Built]  # by device
    figures: Future[tuple[KernelResources, ...]]
    scratch: Path
    seconds: float = 0.0  # that building took

    @property
    def resources(self) -> tuple[KernelResources, ...]:
        """ptxas figures of every kernel."""
        return self.figures.result()

    @functools.cached_property
    def registers(self) -> Path:
        """The same as a file for the engine."""
        return write_for_engine(self.resources, self.scratch)

    def path(self, device: str) -> Path:
        library = self.built[device].library
        if library is None:
            raise CourseError(self.built[device].message)
        return library

    @property
    def failed(self) -> Built | None:
        return next((built for built in self.built.values() if built.library is None), None)

    def session(self, device: str) -> Session:
        """A worker with the library for this device. What launches are modelled to take means nothing here:
        the engine may have to guess the registers."""
        if device == "virtual":
            if self._asks_for_registers:
                return self.session_with_figures()
            return VirtualSession(self.path("virtual"))
        from grader.devices.gpu import GpuSession

        return GpuSession(self.path("gpu"))

    def session_with_figures(self) -> VirtualSession:
        """On a virtual GPU that knows what ptxas made of the kernels."""
        return VirtualSession(self.path("virtual"), resources=self.registers)

    def session_between_blocks(self) -> Session:
        """On a virtual GPU that looks for races between blocks, too. It takes its time."""
        options = {"global_race": "on"}
        return VirtualSession(self.path("virtual"), options=options, resources=self.registers)

    @functools.cached_property
    def _asks_for_registers(self) -> bool:
        return any(map(_ASKS_FOR_REGISTERS.match, wanted_symbols(self.path("virtual"))))


def compile_submission(source: Path, device: str, scratch: Path, defines: Sequence[str] = ()) -> Libraries:
    """The file for every device it will run on, all at once; its ptxas figures come later."""
    started = time.monotonic()
    targets = {"virtual": Target.virtual(ARCHITECTURE)}
    if device == "gpu":
        targets["gpu"] = Target.gpu(first_gpu().cc)
    with ThreadPoolExecutor() as pool:
        building = {name: pool.submit(build, source, target, defines) for name, target in targets.items()}
        library = building["virtual"].result().library
        figures = begin(kernel_resources, source, library, defines) if library else begin(tuple)
        built = {name: future.result() for name, future in building.items()}
    scratch.mkdir(exist_ok=True)
    return Libraries(built, figures, scratch, time.monotonic() - started)
