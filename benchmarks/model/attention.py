"""The attention of exercises 04 to 06, modelled at shapes that were measured on an H200 by other programs
than `./course bench`: 04's by a grading of the reference, 05's steps by benchmarks.flash.latency, 06's in
graphs of 16 calls on 4 sets of inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks import DATA
from benchmarks.flash.kernels import case_of
from benchmarks.flash.shapes import Shape, all_shapes
from benchmarks.flash.ways import V2, kernel_ways
from common.core.errors import CourseError
from grader.building.libraries import Libraries
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.spec import Case, Exercise, Task, TimingProtocol, registry
from grader.spec.random_inputs import Random
from grader.timing.modelled.call_time import modelled_call

_RECORD = DATA / "records" / "nvidia-h200-04_bucketed_kv-reference.json"
_LATENCIES = DATA / "flash" / "latency_h200.json"
_LEVELS = DATA / "hopper" / "levels_h200.json"
_MOST_TOKENS = 16 << 10  # of 04's cache: beyond, the virtual GPU takes minutes
_MOST_ROWS = 1024  # of 05
_MOST_SCORES = 8 * 8 * 512 * 512  # of 06
_SECONDS = 600.0  # for a call


def compare(profile: str) -> dict[str, Any]:
    """By exercise: microseconds of each kernel at each shape, measured and modelled."""
    device, measured = VirtualDevice(profile), json.loads(_LATENCIES.read_text())
    return {
        "device": measured["device"],
        "driver": measured["driver"],
        "exercises": {
            registry.find("04").id: list(_budgets(device)),
            registry.find("05").id: list(_steps(device)),
            registry.find("06").id: list(_levels(device)),
        },
    }


def _budgets(device: VirtualDevice) -> Iterator[dict[str, Any]]:
    exercise = registry.find("04")
    measured = {case["name"]: case for case in json.loads(_RECORD.read_text())["speed"]["cases"]}
    with scratch_folder() as scratch:
        solution = device.compile(exercise.solution, scratch / "solution")
        for case in exercise.bench:
            tokens = sum(count for name, count in case.sizes.items() if name.startswith("of_"))
            if case.name not in measured or case.size.batch > 1 or tokens > _MOST_TOKENS:
                continue
            seconds = _modelled(device, solution, exercise, case, exercise.protocol)
            yield _row(case.name, "solution", measured[case.name]["seconds"], seconds)


def _steps(device: VirtualDevice) -> Iterator[dict[str, Any]]:
    measured = {
        shape["name"]: {way["name"]: way["microseconds"] * 1e-6 for way in shape["ways"]}
        for shape in json.loads(_LATENCIES.read_text())["shapes"]
    }
    ways = kernel_ways()
    with scratch_folder() as scratch:
        built = {
            key: device.compile(key[0], scratch / str(number), key[1])
            for number, key in enumerate(dict.fromkeys((way.source, way.defines) for way in ways))
        }
        for shape in filter(_is_small, all_shapes()):
            case = case_of(shape)
            for way in ways:
                if shape.head_dim in way.head_dims and way.name != V2:
                    seconds = _modelled(device, built[way.source, way.defines], way.task, case, "graph")
                    yield _row(_name(shape), way.name, measured[shape.name][way.name], seconds)


def _levels(device: VirtualDevice) -> Iterator[dict[str, Any]]:
    exercise = registry.find("06")
    tasks: list[Task] = [*exercise.steps, exercise]
    with scratch_folder() as scratch:
        solution = device.compile(exercise.solution, scratch / "solution", arch=exercise.arch)
        for shape in json.loads(_LEVELS.read_text())["shapes"]:
            measured = shape.pop("microseconds")
            if shape["batch"] * shape["heads"] * shape["length"] ** 2 > _MOST_SCORES:
                continue
            case = _case(exercise, shape)
            for task in tasks:
                if task.entry in measured:
                    seconds = _modelled(device, solution, task, case, "graph")
                    yield _row(case.name, task.entry, measured[task.entry] * 1e-6, seconds)


def _case(exercise: Exercise, shape: dict[str, int]) -> Case:
    """The exercise's own, where the shape is one of its."""
    sizes = {**exercise.bench[0].sizes, **shape}
    name = f"{shape['batch']} × {shape['heads']} heads of {shape['head_dim']}, {shape['length']:,}"
    name += ", causal" if shape["causal"] else ""
    return next((case for case in exercise.bench if case.sizes == sizes), Case(name, sizes))


def _name(shape: Shape) -> str:
    """That of the exercise's own case, where the shape is one."""
    sizes = case_of(shape).sizes
    return next((case.name for case in registry.find("05").bench if case.sizes == sizes), shape.name)


def _is_small(shape: Shape) -> bool:
    return shape.batch == 2 and shape.length <= _MOST_ROWS


def _modelled(
    device: VirtualDevice, built: Libraries, task: Task, case: Case, protocol: TimingProtocol
) -> float:
    with device.measuring_session(built, {"max_seconds": int(_SECONDS)}, beside=0) as session:
        outcome = session.run(task.entry, task.inputs(case.size, Random(case.name)), _SECONDS)
    if not outcome.ok:
        raise CourseError(f"{task.entry} failed at {case.name}: {outcome.message}")
    return modelled_call(outcome, protocol)[0]


def _row(case: str, kernel: str, measured: float, modelled: float) -> dict[str, Any]:
    measured, modelled = round(measured * 1e6, 3), round(modelled * 1e6, 3)
    return {"case": case, "kernel": kernel, "measured": measured, "modelled": modelled}
