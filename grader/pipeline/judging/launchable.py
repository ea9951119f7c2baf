"""Launches that a GPU refuses because a block's threads need more registers than there are. The virtual GPU
runs the cases before ptxas has counted registers, so they are looked for afterwards."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from common.build.resources import KernelResources
from common.virtual_gpu.profiles import DEFAULT_PROFILE, Profile, find_profile
from grader.pipeline.judging.cases import CaseRun

_LANES = 32


def without_refused_launches(runs: Iterable[CaseRun], kernels: Sequence[KernelResources]) -> list[CaseRun]:
    """Cases with such a launch fail, as the call would by itself on a GPU."""
    by_name = {kernel.name: kernel for kernel in kernels}
    return [_judged(run, by_name) for run in runs]


def _judged(run: CaseRun, kernels: Mapping[str, KernelResources]) -> CaseRun:
    if not run.result.passed:
        return run
    for outcome in run.outcomes:
        profile = find_profile(outcome.report.profile or DEFAULT_PROFILE)
        for launch in outcome.report.launches:
            kernel = kernels.get(launch.mangled)
            threads = math.prod(launch.block)
            if kernel is not None and (said := refusal(launch.kernel, threads, kernel.registers, profile)):
                result = dataclasses.replace(run.result, passed=False, reason="error", message=said)
                return dataclasses.replace(run, result=result)
    return run


def refusal(kernel: str, threads: int, registers: int, profile: Profile) -> str:
    """A sentence, or nothing for a block that fits. Each warp gets registers in whole steps."""
    warps = math.ceil(threads / _LANES)
    step = profile.register_granularity
    taken = math.ceil(registers * _LANES / step) * step * warps
    if taken <= profile.registers_per_block:
        return ""
    return (
        f"a GPU refuses to launch {kernel} with {threads:,} threads (cudaErrorLaunchOutOfResources): "
        f"each needs {registers} registers, a block of them {taken:,} where there are "
        f"{profile.registers_per_block:,}. __launch_bounds__({threads}) makes the compiler use fewer; or "
        "launch smaller blocks"
    )
