"""`./course tune NN [FILE]`: search the best values of a kernel's tunables, case by case.

A configuration must pass the gates before it is built (divisible tiles, threads, shared memory) and after it
(registers, spills). What passes is timed against the best so far: 40 samples, then 100 if it looks faster.
Every trial is kept in the study's file, so after Ctrl-C or when the time is over the same command continues.
On the virtual GPU times are modelled, so the choice follows the model. Without FILE the reference solution is
tuned. With --on other machines search, each case on one of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from common.core.progress import Progress
from grader.cli import options as shared
from grader.cli.parser import Parser, above_zero, count
from grader.cluster.choose import Place, executor_for, is_elsewhere
from grader.course import student
from grader.course.settings import read_settings
from grader.records.device_info import DeviceInfo

if TYPE_CHECKING:
    from grader.actions.tune import Search, Tuned
    from grader.tuning.find import Tunable
    from grader.tuning.run import Request

_TRIALS, _BUDGET_SECONDS = 100, 1800.0
_INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    parser = Parser("./course tune", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a kernel of your own")
    shared.add_device(parser)
    shared.add_on(parser)
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
    from grader.tuning.find import find

    tunable = find(options.exercise, options.file)
    settings = read_settings(options.settings)
    if not is_elsewhere(options.on, settings):
        _, device = shared.settled(options)
        return _search_here(options, tunable, device)
    with executor_for(options.on, settings, options.device) as place:
        shared.announce(place.device, settings, to_stderr=options.json)
        return _search_elsewhere(options, tunable, place)


def _search_here(options: argparse.Namespace, tunable: Tunable, device: DeviceInfo) -> int:
    from grader.tuning.run import run_cases

    progress = Progress(f"tune {tunable.id}")
    return _search(
        options,
        tunable,
        device,
        lambda request, found: run_cases(request, progress.update, found),
        progress.finish,
    )


def _search_elsewhere(options: argparse.Namespace, tunable: Tunable, place: Place) -> int:
    from grader.building.scratch_folder import scratch_folder
    from grader.classes.measuring import measuring_run
    from grader.spec import registry
    from grader.tuning.elsewhere import GRADER, search_elsewhere

    with scratch_folder() as scratch:
        run = measuring_run(place.device, [registry.find(tunable.id)], scratch, GRADER, place.executor)
        return _search(
            options, tunable, place.device, lambda request, found: search_elsewhere(request, run, found)
        )


def _search(
    options: argparse.Namespace,
    tunable: Tunable,
    device: DeviceInfo,
    search: Search,
    finish: Callable[[str], None] = lambda state: None,
) -> int:
    from grader.actions.tune import cases_for, output_of, study_of, tuned
    from grader.tuning.run import Request

    request = Request(
        tunable,
        device,
        cases_for(tunable, device, options.case),
        free=options.free,
        document_gates=options.document_gates,
        trials=options.trials,
        seconds=options.budget_seconds,
        study=options.study or study_of(tunable),
    )
    found = tuned(request, options.output or output_of(options.file), search)
    finish("stopped" if found.stopped else "done")
    _show(request, found, as_json=options.json)
    if found.stopped:
        print("stopped: the same command continues from here", file=sys.stderr)
    return _INTERRUPTED if found.stopped else 0


def _show(request: Request, found: Tuned, *, as_json: bool) -> None:
    from grader.tuning.report import text

    if as_json:
        print(json.dumps({"modelled": request.modelled, "cases": found.results}, indent=1))
        return
    for name, searches in found.results.items():
        for search, result in searches.items():
            print(text(name, search, result, modelled=request.modelled), end="\n\n")
    print(f"study: {student.shown(request.study)}")
    if found.path is not None:
        print(f"configurations: {student.shown(found.path)}")
