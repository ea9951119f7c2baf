"""Source places as the user knows them: host addresses become lines, paths below a folder become relative."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from common.virtual_gpu.report import Finding, LineCounters, Place, Report

_ADDR2LINE_SECONDS = 20


def resolve_places(report: Report, folder: Path) -> Report:
    """Name the lines of faults in host code, and show paths below `folder` relative to it."""
    return replace(
        report,
        findings=tuple(_finding(finding, folder) for finding in report.findings),
        launches=tuple(replace(launch, lines=_lines(launch.lines, folder)) for launch in report.launches),
        kernels=tuple(replace(kernel, lines=_lines(kernel.lines, folder)) for kernel in report.kernels),
    )


def _finding(finding: Finding, folder: Path) -> Finding:
    place = finding.place
    if not place and finding.host_module:
        place = host_places(finding.host_module, finding.host_offset)
    return replace(finding, place=_shown(place, folder), other=_shown(finding.other, folder))


def _lines(lines: Iterable[LineCounters], folder: Path) -> tuple[LineCounters, ...]:
    return tuple(replace(line, file=shown_path(line.file, folder)) for line in lines)


def _shown(places: Iterable[Place], folder: Path) -> tuple[Place, ...]:
    return tuple(replace(place, file=shown_path(place.file, folder)) for place in places)


def shown_path(path: str, folder: Path) -> str:
    """Relative to `folder` when it lies below it, else as it is."""
    given = Path(path)
    for base in (folder, folder.resolve()):
        if given.is_absolute() and given.is_relative_to(base):
            return str(given.relative_to(base))
    return path


def host_places(module: str, offset: int) -> tuple[Place, ...]:
    """Line and inlined-at chain of an address in an object file; empty when they cannot be found out."""
    tool = shutil.which("addr2line")
    if tool is None:
        return ()
    command = [tool, "--functions", "--demangle", "--inlines", f"--exe={module}", hex(offset)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ADDR2LINE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    names_and_places = done.stdout.splitlines()
    places = []
    for function, where in zip(names_and_places[::2], names_and_places[1::2], strict=False):
        file, _, line = where.partition(" (discriminator")[0].rpartition(":")
        if line.isdigit() and int(line) > 0 and not file.startswith("?"):
            places.append(Place(file, int(line), function))
    return tuple(places)
