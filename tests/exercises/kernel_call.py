"""One call of an exercise's own kernel on the virtual GPU, and what it left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from common.build.program import Target
from common.virtual_gpu.device import CallResult, Library, VirtualGpu
from common.virtual_gpu.report import Finding, Launch
from common.worker.calls import Argument
from grader.answers.compare import expected, same_buffers
from grader.building.build import build
from grader.devices.arguments import arguments
from grader.devices.on_virtual.memory import allocated, read, write
from grader.spec import Case, Task
from grader.spec.random_inputs import Random


@dataclass(frozen=True)
class Outcome:
    """What a call returned and left in every buffer, what it should leave, and what was seen meanwhile."""

    result: CallResult
    returns: int
    got: Mapping[str, torch.Tensor]
    expected: Mapping[str, torch.Tensor]
    findings: tuple[Finding, ...]
    launches: tuple[Launch, ...]

    @property
    def right(self) -> bool:
        answered = self.result.returned == self.result.code == self.returns
        return answered and same_buffers(self.got, self.expected)


def built(source: Path) -> Path:
    """As the grader builds it, which has done so already or will find it done."""
    found = build(source, Target.virtual()).library
    assert found is not None
    return found


def call(
    gpu: VirtualGpu, library: Library, task: Task, case: Case, entry: str = "", *in_place_of_stream: Argument
) -> Outcome:
    """The case's call, or another entry point with the same arguments but the last."""
    gpu.reset()
    made = task.inputs(case.size, Random(f"the values of {case.name}"))
    tensors = {name: allocated(gpu, made, name) for name in made.buffers}
    write(tensors, made, made.buffers)
    *given, stream = arguments(made, lambda name: tensors[name].address)
    result = library.call(entry or task.entry, *given, *(in_place_of_stream or (stream,)))
    got = {name: read(tensor, made, name) for name, tensor in tensors.items()}
    report = gpu.report()
    for tensor in tensors.values():
        tensor.free()
    wanted = expected(task, case.size, made)
    return Outcome(result, made.returns, got, wanted, report.findings, report.launches)
