"""Attention kernels as sides of a comparison: built for this GPU, called on given inputs."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.flash.comparison import Attend, Side
from benchmarks.flash.shapes import Shape
from benchmarks.flash.ways import EXERCISE, KernelWay
from benchmarks.timing.entry_calls import entry_call
from common.build.program import Target, build_program
from common.core.paths import REPOSITORY
from common.gpu.devices import first_gpu
from grader.spec import Call, Case, registry
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

HEADERS = REPOSITORY / "common" / "cuda"
Build = tuple[Path, tuple[str, ...]]  # a file, and its macros


def libraries(builds: Iterable[Build], arch: str | None = None) -> dict[Build, ctypes.CDLL]:
    """All at once: each takes a compiler several seconds. For `arch`, if the exercise asks for one."""
    target = Target.gpu(first_gpu().cc).for_arch(arch)

    def built(build: Build) -> ctypes.CDLL:
        source, defines = build
        made = build_program([source], target, kind="shared", defines=defines, include_dirs=[HEADERS])
        return ctypes.CDLL(str(made.path))

    wanted = list(dict.fromkeys(builds))
    with ThreadPoolExecutor() as pool:
        return dict(zip(wanted, pool.map(built, wanted), strict=True))


def case_of(shape: Shape, exercise: str = EXERCISE) -> Case:
    """The shape as a size of an exercise."""
    usual = registry.find(exercise).bench[0].sizes
    sizes = {name: getattr(shape, name) for name in ("batch", "heads", "length", "head_dim")}
    return Case(shape.name, {**usual, **sizes, "causal": int(shape.causal)})


def inputs_of(shape: Shape, device: str = "cuda") -> list[Call]:
    """As many sets as the shape asks for."""
    exercise, size = registry.find(EXERCISE), case_of(shape).size
    return [exercise.inputs(size, Random(f"{shape.name} {number}", device)) for number in range(shape.sets)]


def kernel_sides(
    ways: Sequence[KernelWay], shape: Shape, sets: Sequence[Call], built: Mapping[Build, ctypes.CDLL]
) -> list[Side]:
    """Those kernels that take heads of this size, all on the same tensors."""
    outs = [call.buffers["out"] for call in sets]
    device = outs[0].device.type
    sides = []
    for way in ways:
        if shape.head_dim not in way.head_dims:
            continue
        # Steps take fewer arguments, other exercises others, about tensors of the same names.
        size = case_of(shape, way.exercise).size
        arguments = way.task.inputs(size, Random("arguments", device)).arguments
        calls = [dataclasses.replace(call, arguments=arguments) for call in sets]
        library = built[way.source, way.defines]
        attends = [_attend(library, way.task.entry, call) for call in calls]
        sides.append(Side(way.name, way.kind, attends, outs))
    return sides


def _attend(library: ctypes.CDLL, entry: str, call: Call) -> Attend:
    queue = entry_call(library, entry, call)

    def attend() -> torch.Tensor:
        queue()
        return call.buffers["out"]

    return attend
