"""All measurements of a gate, one after the other, on either device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.resources import KernelResources
from common.core.errors import CourseError
from common.core.progress import Notify
from common.virtual_gpu.report import Launch
from grader.building.build import kernel_resources
from grader.building.libraries import Libraries
from grader.devices.device import Device, target_for
from grader.devices.on_gpu.arena import random_inputs
from grader.devices.time_budget import CALL_SECONDS
from grader.gate import accuracy, sanitizer
from grader.gate.measured import CaseError, Counters, Free, Look, Measured, Taken, Times
from grader.gate.spec import Gate
from grader.gate.timing import timed
from grader.spec import Exercise, seeds
from grader.spec.random_inputs import Random
from grader.tuning import ncu
from grader.tuning.counters import of_launches

_NEEDS_TRUST = "it would run the file's host code without a sandbox; --trusted allows that"
_NO_CACHE = "the virtual GPU does not count cache hits"


@dataclass(frozen=True)
class Request:
    """A file to judge. Profilers and sanitizers cannot work through a sandbox: only a `trusted` file runs
    without one."""

    exercise: Exercise
    gate: Gate
    source: Path
    device: Device
    trusted: bool


def measure(request: Request, scratch: Path, notify: Notify) -> Measured:
    """Raises CourseError with the compiler's message when the file cannot be built."""
    exercise, gate, device = request.exercise, request.gate, request.device
    notify("building")
    mine = _built(request, request.source, scratch / "mine")
    theirs = _built(request, exercise.baseline, scratch / "theirs")
    errors, looks = _cases(request, mine, notify)
    if wrong := [one.case for one in errors if not one.right]:
        return _unright(request, errors, looks, f"its answers are not right ({wrong[0]})")
    notify(f"looking at {gate.case.name}")
    launches = _launches(request, mine)
    taken = _taken(launches, _resources(request, mine, {}))
    seed = seeds.derive("gate", gate.case.name)
    times = timed(exercise, gate.case, device, theirs, mine, seed, notify)
    free = Free(lack=times.lack) if times.lack else _free(request, mine, times, scratch / "free", notify)
    return Measured(times, _counters(request, theirs, mine, notify), errors, looks, taken, free)


def _unright(request: Request, errors: Sequence[CaseError], looks: Sequence[Look], why: str) -> Measured:
    """Without times: the speed of a wrong answer does not matter."""
    modelled = request.device.modelled
    return Measured(
        Times(modelled=modelled, lack=why), Counters(lack=why), errors, looks, Taken(lack=why), Free(lack=why)
    )


def _built(request: Request, source: Path, scratch: Path, defines: Sequence[str] = ()) -> Libraries:
    built = request.device.compile(source, scratch, defines, arch=request.exercise.arch)
    if built.failed is not None:
        raise CourseError(built.failed.message)
    return built


def _cases(request: Request, mine: Libraries, notify: Notify) -> tuple[list[CaseError], list[Look]]:
    """Errors on the device itself; findings on the virtual GPU, and on the GPU if there is one."""
    exercise, gate, device = request.exercise, request.gate, request.device
    with device.session(mine) as session:
        draw = Random if device.modelled else random_inputs
        errors, reports = accuracy.run_cases(exercise, gate.cases, session, draw, notify)
    if device.modelled:
        return errors, [accuracy.look(reports), *sanitizer.absent("it needs a GPU")]
    with device.virtual.session(mine) as session:
        _, reports = accuracy.run_cases(exercise, gate.checked, session, Random, notify)
    looks = [accuracy.look(reports)]
    if not request.trusted:
        return errors, [*looks, *sanitizer.absent(_NEEDS_TRUST)]
    return errors, [*looks, *sanitizer.look(exercise, gate.checked, mine.gpu_library, notify)]


def _launches(request: Request, built: Libraries) -> Sequence[Launch]:
    """The launches of one call at the gate's case, on the virtual GPU."""
    exercise, case = request.exercise, request.gate.case
    call = exercise.inputs(case.size, Random(seeds.derive("gate", case.name)))
    with request.device.virtual.measuring_session(built) as session:
        return session.run(exercise.entry, call, CALL_SECONDS).report.launches


def _resources(request: Request, built: Libraries, defines: Mapping[str, int]) -> Sequence[KernelResources]:
    """ptxas's figures for the device: for the virtual GPU's architecture, or for that of this GPU."""
    target = request.device.gpu_target
    if target is None:
        return built.resources
    cc = target_for(target, request.exercise.arch).cc
    return kernel_resources(request.source, None, cc, _macros(defines))


def _macros(defines: Mapping[str, int]) -> list[str]:
    return [f"{name}={value}" for name, value in defines.items()]


def _taken(launches: Sequence[Launch], kernels: Sequence[KernelResources]) -> Taken:
    by_name = {kernel.name: kernel for kernel in kernels}
    used = [by_name[launch.mangled] for launch in launches if launch.mangled in by_name]
    if not used or len(used) < len(launches):
        return Taken(lack="ptxas has no figures of a kernel that the call launches")
    return Taken(
        max(kernel.registers for kernel in used),
        max(launch.static_shared + launch.dynamic_shared for launch in launches),
        max(kernel.spill_stores + kernel.spill_loads for kernel in used),
    )


def _free(request: Request, mine: Libraries, gated: Times, scratch: Path, notify: Notify) -> Free:
    """The file's results without limits, if it has the macros for that."""
    defines, text = request.gate.free, request.source.read_text(errors="replace")
    if missing := [name for name in defines if name not in text]:
        return Free(defines, lack=f"the file has no macro {missing[0]}")
    notify("building the free configuration")
    try:
        built = _built(request, request.source, scratch, _macros(defines))
    except CourseError as problem:
        return Free(defines, lack=f"it does not compile: {problem}")
    taken = _taken(_launches(request, built), _resources(request, built, defines))
    seed = seeds.derive("gate", "free", request.gate.case.name)
    times = timed(request.exercise, request.gate.case, request.device, mine, built, seed, notify)
    if times.modelled and not times.lack:  # the model compares with the baseline alone
        times = dataclasses.replace(times, theirs=gated.mine)
    return Free(defines, taken, times)


def _counters(request: Request, theirs: Libraries, mine: Libraries, notify: Notify) -> Counters:
    if request.device.modelled:
        counted = [of_launches(tuple(_launches(request, built))) for built in (theirs, mine)]
        return Counters(counted[0], counted[1], lack=_NO_CACHE)
    if not ncu.installed():
        return Counters(lack="ncu is not installed")
    if not request.trusted:
        return Counters(lack=_NEEDS_TRUST)
    notify("counting with ncu")
    name, case = request.exercise.id, request.gate.case
    counted = [ncu.profiled(name, case, built.gpu_library) for built in (theirs, mine)]
    if not all(counted):
        return Counters(lack="ncu counted nothing: this machine may not allow it")
    return Counters(counted[0], counted[1])
