"""A file as libraries for the devices it will run on, and workers that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common.build import KernelResources, Target
from common.devices import first_gpu
from common.errors import CourseError
from common.resources import write_for_engine
from grader.device import Session
from grader.device.virtual import VirtualSession
from grader.stages.build import ARCHITECTURE, Built, build, kernel_resources


@dataclass
class Libraries:
    """What the compiler made of a file."""

    built: dict[str, Built]  # by device
    resources: tuple[KernelResources, ...]
    registers: Path

    def path(self, device: str) -> Path:
        library = self.built[device].library
        if library is None:
            raise CourseError(self.built[device].message)
        return library

    @property
    def failed(self) -> Built | None:
        return next((built for built in self.built.values() if built.library is None), None)

    def session(self, device: str) -> Session:
        """A worker with the library for this device."""
        if device == "virtual":
            return VirtualSession(self.path("virtual"), resources=self.registers)
        from grader.device.gpu import GpuSession

        return GpuSession(self.path("gpu"))

    def session_between_blocks(self) -> Session:
        """On a virtual GPU that looks for races between blocks, too. It takes its time."""
        options = {"global_race": "on"}
        return VirtualSession(self.path("virtual"), options=options, resources=self.registers)


def compile_submission(source: Path, device: str, scratch: Path, defines: Sequence[str] = ()) -> Libraries:
    """The file for every device it will run on, all at once, and its ptxas figures."""
    targets = {"virtual": Target.virtual(ARCHITECTURE)}
    if device == "gpu":
        targets["gpu"] = Target.gpu(first_gpu().cc)
    with ThreadPoolExecutor() as pool:
        building = {name: pool.submit(build, source, target, defines) for name, target in targets.items()}
        library = building["virtual"].result().library
        kernels = () if library is None else kernel_resources(source, library, defines)
        built = {name: future.result() for name, future in building.items()}
    scratch.mkdir(exist_ok=True)
    return Libraries(built, kernels, write_for_engine(kernels, scratch))
