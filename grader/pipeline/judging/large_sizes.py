"""Timed sizes that the virtual GPU cannot run whole: the call is made there on memory that holds next to
nothing, and of each launch a few blocks run, with all checks. Nobody compares the answer."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from common.virtual_gpu.finding import Dim3
from common.virtual_gpu.report import Finding, Launch, Report
from grader.building.libraries import Libraries
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual.session import VirtualSession
from grader.devices.on_virtual.sparse_inputs import SparseRandom
from grader.spec import Call, Case, Exercise, seeds

_SECONDS = 10.0  # CPU time of a call; one whose blocks all run takes a tenth
_MOST_BYTES = 1 << 30  # of the buffers that hold values


@dataclass(frozen=True)
class Looked:
    """A size: the virtual GPU's report, and why there is nothing to see there."""

    case: Case
    report: Report
    why_not: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        where = f" (at {self.case.name}, where a few blocks of each launch were looked at)"
        return tuple(
            dataclasses.replace(finding, message=finding.message + where) for finding in self.report.findings
        )

    @property
    def unseen(self) -> str:
        """A sentence for a person, where the call did not show a kernel at all."""
        if self.report.launches:
            return ""
        why = f" ({self.why_not})" if self.why_not else ""
        return f"at {self.case.name} nothing was launched{why}: what it does there was not checked"

    def plain(self) -> dict[str, Any]:
        """As a record holds it."""
        return {
            "case": self.case.name,
            "launches": [_shape(launch) for launch in self.report.launches],
            "why_not": self.why_not,
        }


def look_at_large_sizes(
    exercise: Exercise, program: Libraries, device: VirtualDevice, secret: str
) -> list[Looked]:
    """The timed sizes that only a GPU runs whole."""
    cases = [case for case in exercise.timed_cases if not device.runs(case)]
    if not cases:
        return []
    drawn = int(seeds.derive(secret, "blocks of large sizes")[:8], 16)
    with device.sampling_session(program, drawn) as session:
        return [
            _look(exercise, case, session, seeds.derive(secret, "large sizes", number))
            for number, case in enumerate(cases)
        ]


def _look(exercise: Exercise, case: Case, session: VirtualSession, seed: str) -> Looked:
    rng = SparseRandom(seed)
    call = exercise.inputs(case.size, rng)
    if (needed := _bytes(call, rng)) > _MOST_BYTES:
        return Looked(case, Report(), f"its buffers need {needed >> 20:,} MiB, and get {_MOST_BYTES >> 20:,}")
    outcome = session.run_sparse(exercise.entry, call, _SECONDS, rng.is_empty)
    return Looked(case, outcome.report, outcome.message)


def _bytes(call: Call, rng: SparseRandom) -> int:
    buffers = call.buffers.items()
    return sum(one.nbytes for name, one in buffers if name in call.scratch or not rng.is_empty(one))


def _shape(launch: Launch) -> dict[str, Any]:
    """How a kernel was launched, and how many of its blocks ran."""
    return {
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "cluster": list(launch.cluster or (1, 1, 1)),
        "shared": launch.static_shared + launch.dynamic_shared,
        "blocks": math.prod(launch.grid),
        "begun": launch.blocks_begun,
        "finished": launch.blocks_finished,
    }


def shapes(looked: Sequence[Looked], whole: Iterable[tuple[str, Report]]) -> list[dict[str, Any]]:
    """Each way in which a kernel was launched in a call, how often, and at which sizes: those that ran whole,
    by the names of their cases, and those of which a few blocks ran."""
    made: dict[tuple[Any, ...], dict[str, Any]] = {}
    for kind, calls in (("whole", whole), ("sampled", [(one.case.name, one.report) for one in looked])):
        for case, report in calls:
            for key, launches in Counter(map(_key, report.launches)).items():
                names = dict(zip(("kernel", "block", "cluster", "shared"), key, strict=True))
                row = made.setdefault(
                    (*key, launches), {**names, "launches": launches, "whole": [], "sampled": []}
                )
                if case not in row[kind]:
                    row[kind].append(case)
    return list(made.values())


def _key(launch: Launch) -> tuple[str, Dim3, Dim3, int]:
    shared = launch.static_shared + launch.dynamic_shared
    return launch.kernel, launch.block, launch.cluster or (1, 1, 1), shared


def launched_there_alone(looked: Sequence[Looked], whole: Iterable[Report]) -> list[str]:
    """Kernels that no call which ran whole has launched."""
    known = {launch.mangled for report in whole for launch in report.launches}
    there = {launch.mangled: launch.kernel for one in looked for launch in one.report.launches}
    return sorted(kernel for mangled, kernel in there.items() if mangled not in known)
