"""The stream that entry points get on the virtual GPU, and the check that a call's launches are ordered on
it: after earlier work and before later work."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from common.build.program import Target, build_program
from common.virtual_gpu.report import Finding, Launch, Report
from grader.words.numbers import short_kernel

OFF_STREAM = "not on its stream"  # the reason of a call whose work is not ordered on the given stream
SOURCE = Path(__file__).with_suffix(".cu")
_OLDEST = "75"  # that nvcc 13 builds for
_BEGINS, _ENDS = "given_stream_begins", "given_stream_ends"  # kernels of SOURCE
_MARKS = (_BEGINS, _ENDS)
_DEFAULT_STREAMS = (0, 2)  # the legacy one and a thread's own, as protocol.h counts them
_GIVEN = "the caller's stream is the entry's last argument, launch everything there"
_LOST = (
    "the given stream no longer works when the call is over: do not destroy it, capture it or reset "
    "the device"
)


@functools.cache
def library_path() -> Path:
    """Built on first use, as any CUDA file is, and for the oldest device that any profile may be."""
    return build_program([SOURCE], Target.virtual(_OLDEST), kind="shared").path


def out_of_order(report: Report, stream: int) -> str:
    """A sentence when launches of a call between the two marks were not ordered on `stream`.

    The engine runs the newest queued work first unless an order is required. So work that does not wait for
    the first mark runs before it, and work that the second mark does not wait for runs after it.
    """
    if any(_times(report, mark) != 1 for mark in _MARKS):
        return _LOST
    for launch in report.launches:
        if launch.stream in _DEFAULT_STREAMS:
            return f"{short_kernel(launch.kernel)} was launched on the default stream; {_GIVEN}"
    names = [launch.mangled for launch in report.launches]
    if names[0] != _BEGINS:
        return (
            f"{_launched(report.launches[0], stream)} and did not wait for earlier work on the given one; "
            f"{_GIVEN}, or make other streams wait for an event of it"
        )
    behind = report.launches[names.index(_ENDS) + 1 :] if _ENDS in names else ()
    if behind:
        return (
            f"{_launched(behind[0], stream)} and still runs when the given one is done; {_GIVEN}, or make it "
            "wait for an event of every other stream"
        )
    return ""


def without_marks(report: Report) -> Report:
    """The report without the two marks."""
    own = [launch for launch in report.launches if launch.mangled not in _MARKS]
    places = {launch.index: place for place, launch in enumerate(own)}
    marked = sum(_times(report, mark) for mark in _MARKS)
    totals = {**report.totals, "launches": report.totals.get("launches", marked) - marked}
    return dataclasses.replace(
        report,
        launches=tuple(dataclasses.replace(launch, index=places[launch.index]) for launch in own),
        kernels=tuple(kernel for kernel in report.kernels if kernel.mangled not in _MARKS),
        findings=_renumbered(report.findings, places),
        totals=totals,
    )


def _times(report: Report, mangled: str) -> int:
    return sum(kernel.launches for kernel in report.kernels if kernel.mangled == mangled)


def _launched(launch: Launch, stream: int) -> str:
    where = "on the given stream" if launch.stream == stream else "on another stream than the given one"
    return f"{short_kernel(launch.kernel)} was launched {where}"


def _renumbered(findings: Sequence[Finding], places: dict[int, int]) -> tuple[Finding, ...]:
    return tuple(dataclasses.replace(one, launch=places.get(one.launch, one.launch)) for one in findings)
