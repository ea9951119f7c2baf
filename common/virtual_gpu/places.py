"""Source places as the user knows them: paths below a folder become relative to it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from common.virtual_gpu.decode import with_later
from common.virtual_gpu.report import Finding, KernelTotals, Launch, LineCounters, Place, Report

T = TypeVar("T", Launch, KernelTotals)


def shorten_places(report: Report, folder: Path) -> Report:
    """The same report, with paths below `folder` shown relative to it."""
    return replace(
        report,
        findings=tuple(_finding(finding, folder) for finding in report.findings),
        leaks=tuple(replace(leak, place=_shown(leak.place, folder)) for leak in report.leaks),
        launches=tuple(_with_lines(launch, folder) for launch in report.launches),
        kernels=tuple(_with_lines(kernel, folder) for kernel in report.kernels),
        call=report.call and replace(report.call, waited_at=_shown(report.call.waited_at, folder)),
    )


def _finding(finding: Finding, folder: Path) -> Finding:
    return replace(
        finding,
        place=_shown(finding.place, folder),
        other=_shown(finding.other, folder),
        allocated_at=_shown(finding.allocated_at, folder),
    )


def _with_lines(owner: T, folder: Path) -> T:
    return with_later(owner, "lines", lambda: _lines(owner.lines, folder))


def _lines(lines: Iterable[LineCounters], folder: Path) -> tuple[LineCounters, ...]:
    shown = ((each, shown_path(each.file, folder)) for each in lines)
    return tuple(
        each if file == each.file else LineCounters(file, each.line, each.counters) for each, file in shown
    )


def _shown(places: Iterable[Place], folder: Path) -> tuple[Place, ...]:
    return tuple(replace(place, file=shown_path(place.file, folder)) for place in places)


@functools.lru_cache(maxsize=4096)  # a report names a few files on thousands of lines
def shown_path(path: str, folder: Path) -> str:
    """Relative to `folder` when it lies below it, else as it is."""
    given = Path(path)
    for base in (folder, folder.resolve()):
        if given.is_absolute() and given.is_relative_to(base):
            return str(given.relative_to(base))
    return path
