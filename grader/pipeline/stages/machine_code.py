"""Waits for ptxas, which has worked beside the first cases. What it makes no machine code of runs on no GPU
and earns nothing, whatever the virtual GPU, which runs PTX, made of it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.building.libraries import Libraries
from grader.pipeline.context import Context
from grader.pipeline.events import BuildDone
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.submission import Submission


@dataclass(frozen=True, kw_only=True)
class MachineCode(Result):
    """`failure` is what ptxas says."""

    failure: str


def run(submission: Submission, context: Context, earlier: Results) -> MachineCode | None:
    program = earlier.of(Built).program
    if not isinstance(program, Libraries) or (refused := program.without_machine_code) is None:
        return None
    diagnostics = refused.plain()
    context.on_event(BuildDone(False, program.seconds, diagnostics))
    return MachineCode(diagnostics=diagnostics, failure=refused.message, ends=True)
