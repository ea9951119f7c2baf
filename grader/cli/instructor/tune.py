"""`./course tune NN [FILE]`: search the best values of a kernel's tunables, case by case.

A configuration must pass the gates before it is built (divisible tiles, threads, shared memory) and after it
(registers, spills). What passes is timed against the best so far: 40 samples, then 100 if it looks faster.
Every trial is kept in the study's file, so after Ctrl-C or when the time is over the same command continues.
On the virtual GPU times are modelled, so the choice follows the model. Without FILE the reference solution is
tuned.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from common.core.paths import MEASURED
from common.core.progress import Progress
from grader.cli import options as shared
from grader.cli.parser import Parser, above_zero, count
from grader.course import student
from grader.spec import Case

if TYPE_CHECKING:
    from grader.devices.device import Device
    from grader.tuning.find import Tunable
    from grader.tuning.run import Request

TUNED = MEASURED / "tuned"
_TRIALS, _BUDGET_SECONDS = 100, 1800.0
_INTERRUPTED = 130
Results = dict[str, dict[str, dict[str, Any]]]  # by case and search


def main(arguments: list[str]) -> int:
    parser = Parser(
        prog="./course tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a kernel of your own")
    shared.add_device(parser)
    shared.add_json(parser)
    parser.add_argument("--case", metavar="NAME", help="one case; default: all that fit the device")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--gated", action="store_true", help="within the exercise's limits of registers and shared memory"
    )
    which.add_argument("--free", action="store_true", help="within what the device allows; default: --gated")
    parser.add_argument(
        "--document-gates",
        action="store_true",
        help="refuse what reaches less than 50 %% occupancy, too",
    )
    parser.add_argument(
        "--trials", metavar="N", type=count, default=_TRIALS, help=f"to build per case; default: {_TRIALS}"
    )
    parser.add_argument(
        "--budget-seconds",
        metavar="S",
        type=above_zero,
        default=_BUDGET_SECONDS,
        help=f"for all cases together; default: {_BUDGET_SECONDS:.0f}",
    )
    parser.add_argument("--study", metavar="FILE", type=Path, help="default: work/tuning/NN_name.sqlite")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="default: common/measured/tuned/, and work/tuning/ for a kernel of your own",
    )
    options = parser.parse_args(arguments)
    from grader.devices.device import device_of
    from grader.tuning.find import find
    from grader.tuning.run import Request

    tunable = find(options.exercise, options.file)
    _, device = shared.settled(options)
    chosen = device_of(device)
    request = Request(
        tunable,
        chosen,
        _cases(tunable, chosen, options.case),
        free=options.free,
        document_gates=options.document_gates,
        trials=options.trials,
        seconds=options.budget_seconds,
        study=options.study or student.WORK / "tuning" / f"{tunable.id}.sqlite",
    )
    progress = Progress(f"tune {tunable.id}")
    results, stopped = _searched(request, progress)
    progress.finish("stopped" if stopped else "done")
    # The course's launcher uses the solution's.
    output = options.output or (TUNED if options.file is None else student.WORK / "tuning")
    path = _write(request, device.name, results, output) if results else None
    _show(request, results, path, as_json=options.json)
    if stopped:
        print("stopped: the same command continues from here", file=sys.stderr)
    return _INTERRUPTED if stopped else 0


def _cases(tunable: Tunable, device: Device, name: str | None) -> list[Case]:
    if name is not None:
        return [tunable.case(name)]
    fitting = [case for case in tunable.tuning.cases if device.runs(case)]
    if not fitting:
        raise CourseError(f"all cases of {tunable.id} are meant for a GPU; name one with --case anyway")
    return fitting


def _searched(request: Request, progress: Progress) -> tuple[Results, bool]:
    """The results, and whether the search was interrupted."""
    from grader.tuning.run import run_cases

    results: Results = {}

    def found(case: Case, result: dict[str, Any]) -> None:
        results[case.name] = {request.search: result}

    try:
        run_cases(request, progress.update, found)
    except KeyboardInterrupt:
        return results, True
    return results, False


def _write(request: Request, device: str, results: Results, output: Path) -> Path:
    from grader.tuning.report import write

    about = {
        "exercise": request.tunable.id,
        "device": device,
        "modelled": request.modelled,
        "date": date.today().isoformat(),
    }
    return write(output / f"{request.device.info.file_stem}-{request.tunable.number}", about, results)


def _show(request: Request, results: Results, path: Path | None, *, as_json: bool) -> None:
    from grader.tuning.report import text

    if as_json:
        print(json.dumps({"modelled": request.modelled, "cases": results}, indent=1))
        return
    for name, searches in results.items():
        for search, result in searches.items():
            print(text(name, search, result, modelled=request.modelled), end="\n\n")
    print(f"study: {student.shown(request.study)}")
    if path is not None:
        print(f"configurations: {student.shown(path)}")
