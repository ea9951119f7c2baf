"""Searches the best values of a kernel's tunables, case by case, and writes them: what `tune` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.paths import MEASURED
from grader.course import student
from grader.records.device_info import DeviceInfo
from grader.spec import Case
from grader.tuning.find import Tunable
from grader.tuning.report import write
from grader.tuning.run import Found, Request

Search = Callable[[Request, Found], None]
TUNED = MEASURED / "tuned"  # where the course's launcher looks for the solution's configurations


@dataclass(frozen=True)
class Tuned:
    """What was found, by case and search, and the file it is in: None where nothing was found. `stopped`: by
    Ctrl-C."""

    results: dict[str, dict[str, dict[str, Any]]]
    path: Path | None
    stopped: bool


def cases_for(tunable: Tunable, device: DeviceInfo, name: str | None) -> list[Case]:
    """The case of that name, or all that fit the device."""
    if name is not None:
        return [tunable.case(name)]
    fitting = [case for case in tunable.tuning.cases if not (device.modelled and case.gpu_only)]
    if not fitting:
        raise CourseError(f"all cases of {tunable.id} are meant for a GPU; name one with --case anyway")
    return fitting


def study_of(tunable: Tunable) -> Path:
    return student.WORK / "tuning" / f"{tunable.id}.sqlite"


def output_of(file: Path | None) -> Path:
    """For the solution, or for a file of one's own."""
    return TUNED if file is None else student.WORK / "tuning"


def tuned(request: Request, output: Path, search: Search) -> Tuned:
    """Search until the trials or the time are over, or until Ctrl-C, and write what was found."""
    results: dict[str, dict[str, dict[str, Any]]] = {}

    def found(case: Case, result: dict[str, Any]) -> None:
        results[case.name] = {request.search: result}

    stopped = False
    try:
        search(request, found)
    except KeyboardInterrupt:
        stopped = True
    return Tuned(results, _written(request, results, output) if results else None, stopped)


def _written(request: Request, results: dict[str, dict[str, dict[str, Any]]], output: Path) -> Path:
    device, tunable = request.info, request.tunable
    about = {
        "exercise": tunable.id,
        "device": device.name,
        "modelled": request.modelled,
        "date": date.today().isoformat(),
    }
    return write(output / f"{device.file_stem}-{tunable.number}", about, results)
