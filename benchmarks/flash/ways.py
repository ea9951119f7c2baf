"""The kernels that are compared: which file, which entry point, which macros, for which heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from grader.spec import Task

Kind = Literal["v1", "v2", "level", "gated", "free", "torch", "decode"]
V1, V2, GATED, FREE = "V1, scalar", "V2", "V3, gated", "V3, free"
FLASH, CUDNN, EFFICIENT = "SDPA flash", "SDPA cuDNN", "SDPA memory-efficient"
BACKENDS = {FLASH: "FLASH_ATTENTION", CUDNN: "CUDNN_ATTENTION", EFFICIENT: "EFFICIENT_ATTENTION"}
EXERCISE = "05"


@dataclass(frozen=True)
class KernelWay:
    """An entry point of a CUDA file; `task` knows its arguments."""

    name: str
    kind: Kind
    source: Path
    task: Task
    macros: Mapping[str, int] = field(default_factory=dict)
    head_dims: tuple[int, ...] = (64,)
    exercise: str = EXERCISE

    @property
    def defines(self) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in self.macros.items())


def kernel_ways() -> list[KernelWay]:
    """In the order of the ladder. The graded steps are the levels, the first of them V1."""
    from grader.gate import find as gates

    exercise, gate = gates.find(EXERCISE)
    scalar, *levels = exercise.steps
    both = (64, 128)
    return [
        KernelWay(V1, "v1", exercise.solution, scalar),
        KernelWay(V2, "v2", exercise.baseline, exercise, head_dims=both),
        *(
            KernelWay(f"step {number}: {step.name}", "level", exercise.solution, step)
            for number, step in enumerate(levels, 2)
        ),
        KernelWay(GATED, "gated", exercise.solution, exercise, head_dims=both),
        # Heads of 128 have their own tile sizes, which these macros do not set.
        KernelWay(FREE, "free", exercise.solution, exercise, gate.free),
    ]
