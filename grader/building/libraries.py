"""A compiled file: a library for each device it will run on, and ptxas's figures."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from common.build.program import Target
from common.build.resources import KernelResources, write_for_engine
from common.core.background import begin
from common.core.errors import CourseError
from common.machine_code.embedded_ptx import embedded_ptx
from grader.building.build import Built, build, kernel_resources, refused


@dataclass(frozen=True)
class Libraries:
    """A file built for the virtual GPU, and for the GPU where there is one. ptxas may still be running: its
    figures are waited for when they are read."""

    timed: ClassVar[bool] = True  # every device that runs it can time it

    on_virtual: Built
    on_gpu: Built | None
    figures: Future[tuple[KernelResources, ...]]
    scratch: Path
    seconds: float = 0.0  # of building

    @property
    def resources(self) -> tuple[KernelResources, ...]:
        """ptxas figures of every kernel; none where `without_machine_code` says why."""
        return () if self.without_machine_code else self.figures.result()

    @functools.cached_property
    def without_machine_code(self) -> Built | None:
        """What ptxas says where it makes no machine code of the file, which then runs on no GPU."""
        problem = self.figures.exception()
        if problem is None:
            return None
        if isinstance(problem, CourseError):
            return refused(problem)
        raise problem

    @functools.cached_property
    def registers(self) -> Path:
        """The figures as a file for the engine, which then runs no device code but what nvcc made."""
        return write_for_engine(self.resources, self.scratch, self._made_by_nvcc)

    @functools.cached_property
    def device_code(self) -> Path:
        """The same without the figures, which may take ptxas a while."""
        folder = self.scratch / "device_code"
        folder.mkdir(exist_ok=True)
        return write_for_engine((), folder, self._made_by_nvcc)

    @functools.cached_property
    def _made_by_nvcc(self) -> bytes:
        return embedded_ptx(self.virtual_library.read_bytes()) or b""

    @property
    def virtual_library(self) -> Path:
        """Raises CourseError with the compiler's message where there is none."""
        return _library(self.on_virtual)

    @property
    def gpu_library(self) -> Path:
        """Raises CourseError with the compiler's message where there is none."""
        assert self.on_gpu is not None, "nothing was built for a GPU"
        return _library(self.on_gpu)

    @property
    def failed(self) -> Built | None:
        both = (self.on_virtual, self.on_gpu)
        return next((built for built in both if built is not None and built.library is None), None)

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """Diagnostics of the build that failed, else the warnings."""
        return (self.failed or self.on_virtual).plain()


def _library(built: Built) -> Path:
    if built.library is None:
        raise CourseError(built.message)
    return built.library


def compile_for(
    virtual: Target, gpu: Target | None, source: Path, scratch: Path, defines: Sequence[str] = ()
) -> Libraries:
    """Build both libraries at once; the ptxas figures come later."""
    started = time.monotonic()
    with ThreadPoolExecutor() as pool:
        on_gpu = pool.submit(build, source, gpu, defines) if gpu is not None else None
        on_virtual = build(source, virtual, defines)
        library = on_virtual.library
        figures = begin(kernel_resources, source, library, virtual.cc, defines) if library else begin(tuple)
        native = on_gpu.result() if on_gpu is not None else None
    scratch.mkdir(exist_ok=True)
    return Libraries(on_virtual, native, figures, scratch, time.monotonic() - started)
