"""A device that submissions are graded on: the interface, and its implementations. Only this module
distinguishes the kinds of devices."""

from __future__ import annotations

import functools
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.build.architecture import runs
from common.build.program import Target
from common.build.toolchain import find_nvcc
from common.core.errors import CourseError
from common.gpu.devices import first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile, profiles
from grader.building.libraries import Libraries, compile_for
from grader.building.symbols import needed_symbols
from grader.devices.on_virtual.session import MEASURING, SAMPLING, VirtualSession
from grader.devices.session import Session
from grader.devices.time_budget import TimeBudget
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.spec import Case

if TYPE_CHECKING:
    from grader.devices.on_gpu.session import GpuSession

_VIRTUAL_SECONDS = 120.0  # all cases of a submission together; an ordinary kernel takes a tenth
# Functions whose results depend on a kernel's number of registers.
_ASKS_FOR_REGISTERS = re.compile(
    r"cudaOccupancy|cudaFuncGetAttributes|cudaLaunchCooperative|cudaLaunchKernelEx"
)


class Device(ABC):
    """Runs programs: libraries here, Python files in the Python track."""

    modelled: bool  # whether its times are the cost model's
    timed: bool = True  # whether it can time kernels at all
    reports_findings: bool  # whether its own calls do; else `virtual` runs them again
    tensors_on: str  # torch's name of the device for inputs and expected outputs

    @property
    @abstractmethod
    def info(self) -> DeviceInfo:
        """Its name in records."""

    @property
    @abstractmethod
    def virtual(self) -> VirtualDevice:
        """The virtual GPU that examines kernels of a program that runs elsewhere."""

    @property
    def gpu_target(self) -> Target | None:
        """What a program is built for besides the virtual GPU."""
        return None

    @abstractmethod
    def session(self, program: Any) -> Session:
        """A worker with the program."""

    @abstractmethod
    def runs(self, case: Case) -> bool:
        """Whether the case is small enough for this device."""

    @abstractmethod
    def time_budget(self) -> TimeBudget:
        """For all cases of one submission."""

    @property
    def tasks_at_once(self) -> int:
        """How many tasks of one submission may run in parallel."""
        return 1

    def compile(
        self, source: Path, scratch: Path, defines: Sequence[str] = (), *, arch: str | None = None
    ) -> Libraries:
        """Build the file for every device it will run on; `arch` is the exercise's. Raises CourseError if one
        of the devices does not run code for it."""
        gpu = None if self.gpu_target is None else target_for(self.gpu_target, arch)
        return compile_for(target_for(self.virtual.target, arch), gpu, source, scratch, defines)


class VirtualDevice(Device):
    """The virtual GPU, which behaves like the device of a profile."""

    modelled = True
    reports_findings = True
    tensors_on = "cpu"

    def __init__(self, profile: str = DEFAULT_PROFILE) -> None:
        self.profile = profile

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(VIRTUAL, self.profile, compiler=_compiler())

    @property
    def card(self) -> str:
        """The name of the card that it models."""
        return find_profile(self.profile).name

    @property
    def virtual(self) -> VirtualDevice:
        return self

    @functools.cached_property
    def target(self) -> Target:
        return Target.virtual(find_profile(self.profile).compute_capability)

    def session(self, program: Libraries) -> VirtualSession:
        """Modelled times of launches are not valid here: the engine may have to guess registers."""
        library = program.virtual_library
        if any(map(_ASKS_FOR_REGISTERS.match, needed_symbols(library))):
            return self.session_with_figures(program)
        return self.session_of(library, program.device_code)

    def session_with_figures(
        self, program: Libraries, options: Mapping[str, object] | None = None, *, beside: int = 1
    ) -> VirtualSession:
        """On an engine that has ptxas's figures of the kernels; so many others run at the same time."""
        return self.session_of(program.virtual_library, program.registers, options, beside=beside)

    def session_of(
        self,
        library: Path,
        resources: Path | None,
        options: Mapping[str, object] | None = None,
        *,
        beside: int = 1,
    ) -> VirtualSession:
        """With what is known of the library's kernels. Every session is opened here, for this profile."""
        return VirtualSession(
            library, options=options, resources=resources, profile=self.profile, beside=beside
        )

    def measuring_session(
        self, program: Libraries, options: Mapping[str, object] | None = None, *, beside: int = 1
    ) -> VirtualSession:
        """On an engine that models times and counts, without most checks."""
        return self.session_with_figures(program, {**MEASURING, **(options or {})}, beside=beside)

    def session_between_blocks(self, program: Libraries) -> VirtualSession:
        """On an engine that looks for races between blocks, too, which is slow."""
        return self.session_with_figures(program, {"global_race": "on"})

    def sampling_session(self, program: Libraries, seed: int) -> VirtualSession:
        """On an engine that runs a few blocks of each launch, drawn by the seed, with all checks."""
        return self.session_with_figures(program, {**SAMPLING, "sample_seed": seed})

    def runs(self, case: Case) -> bool:
        return not case.gpu_only

    def time_budget(self) -> TimeBudget:
        return TimeBudget(_VIRTUAL_SECONDS)

    @property
    def tasks_at_once(self) -> int:
        return len(os.sched_getaffinity(0))


class GpuDevice(Device):
    """The first CUDA device of this machine."""

    modelled = False
    reports_findings = False
    tensors_on = "cuda"

    def __init__(self) -> None:
        self._gpu = first_gpu()
        same = (name for name, profile in profiles().items() if profile.name == self._gpu.name)
        self._virtual = VirtualDevice(next(same, DEFAULT_PROFILE))

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(GPU, self._gpu.name, self._gpu.driver, _compiler())

    @property
    def virtual(self) -> VirtualDevice:
        return self._virtual

    @property
    def gpu_target(self) -> Target:
        return Target.gpu(self._gpu.cc)

    def session(self, program: Libraries) -> GpuSession:
        from grader.devices.on_gpu.session import GpuSession  # needs a GPU's torch

        return GpuSession(program.gpu_library)

    def runs(self, case: Case) -> bool:
        return True

    def time_budget(self) -> TimeBudget:
        return TimeBudget(math.inf)


def device_of(info: DeviceInfo | str) -> Device:
    """The device that a record or a setting names, or the default device of a kind."""
    named = DeviceInfo(info, "") if isinstance(info, str) else info
    return VirtualDevice(named.name or DEFAULT_PROFILE) if named.modelled else GpuDevice()


def target_for(target: Target, arch: str | None) -> Target:
    """What an exercise's files are built for. Raises CourseError, with the profiles to choose from, if the
    device does not run code for the architecture that the exercise asks for."""
    try:
        return target.for_arch(arch)
    except CourseError as problem:
        fitting = [
            name for name, profile in profiles().items() if runs(arch or "", profile.compute_capability)
        ]
        raise CourseError(
            f"this exercise is for {arch}: {problem}. Use the virtual GPU (--device virtual) with a profile "
            f"that runs it (profile in course.toml): {', '.join(fitting)}"
        ) from problem


def _compiler() -> str:
    return f"nvcc {find_nvcc().version}"
