"""`./course bench [NN]`: time baselines, solutions, variants and library alternatives over all bench shapes.

Results go to common/measured/<device>.json and plots to benchmarks/data/bench/plots/; other exercises'
entries are kept. On the virtual GPU the times are modelled and the file's name says so; shapes meant for a
GPU are left out there without --large. With --on other machines measure, each shape on one of them; when the
command is stopped, the same command continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.core.paths import MEASURED, REPOSITORY
from common.core.progress import Progress
from grader.bench.results import merge
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.cluster.choose import executor_for, is_elsewhere
from grader.course import student
from grader.course.settings import Settings, read_settings
from grader.records.device_info import DeviceInfo
from grader.render import figures
from grader.render.bench_rows import bench_rows
from grader.spec import Exercise, registry
from grader.words.text import table

PLOTS = REPOSITORY / "benchmarks" / "data" / "bench" / "plots"


def main(arguments: list[str]) -> int:
    parser = Parser("./course bench", __doc__)
    shared.add_exercise(parser, optional=True)
    shared.add_device(parser)
    shared.add_on(parser)
    shared.add_json(parser)
    parser.add_argument(
        "--large",
        action="store_true",
        help="on the virtual GPU, model the shapes meant for GPUs too: takes minutes and 10 GiB of memory",
    )
    # A student's measurements do not belong among the course's own results.
    default = MEASURED if registry.SOLUTIONS.is_dir() else student.WORK / "benchmarks"
    shown = f"default: {student.shown(default)}/"
    parser.add_argument("--output", metavar="DIR", type=Path, default=default, help=shown)
    options = parser.parse_args(arguments)
    exercises = [registry.find(options.exercise)] if options.exercise else registry.all_exercises()
    settings = read_settings(options.settings)
    results = (_elsewhere if is_elsewhere(options.on, settings) else _here)(options, settings, exercises)
    merged: dict[str, Any] = {}
    for exercise, device, result in results:
        path = options.output / f"{device.file_stem}.json"
        merged = merge(path, result)
        _draw(path, exercise, merged, modelled=device.modelled)
        if not options.json:
            _show(exercise, merged["exercises"][exercise.id], modelled=device.modelled)
    if options.json:
        print(json.dumps(merged, indent=1))
    else:
        print(f"results: {student.shown(path)}")
    return 0


_Results = Iterator[tuple[Exercise, DeviceInfo, dict[str, Any]]]


def _here(options: argparse.Namespace, settings: Settings, exercises: Sequence[Exercise]) -> _Results:
    _, device = shared.settled(options)
    for exercise in exercises:
        progress = Progress(f"bench {exercise.id}")
        result = _benched(exercise, device, progress, large=options.large)
        progress.finish("done")
        yield exercise, device, result


def _elsewhere(options: argparse.Namespace, settings: Settings, exercises: Sequence[Exercise]) -> _Results:
    """What was measured before the command was stopped is in a folder until all is measured."""
    from grader.bench.elsewhere import GRADER, bench_elsewhere
    from grader.classes.measuring import measuring_run

    with executor_for(options.on, settings, options.device) as place:
        shared.announce(place.device, settings, to_stderr=options.json)
        folder = student.WORK / "bench" / place.device.file_stem
        run = measuring_run(place.device, exercises, folder, GRADER, place.executor)
        found = bench_elsewhere(run, exercises, large=options.large)
    shutil.rmtree(run.output, ignore_errors=True)
    for exercise in exercises:
        yield exercise, place.device, found[exercise.id]


def _show(exercise: Exercise, entry: Mapping[str, Any], *, modelled: bool) -> None:
    columns, rows = bench_rows(entry)
    print(table(columns, rows, f"{exercise.id}, {'modelled' if modelled else 'measured'}"))
    if left_out := entry.get("left_out"):
        print(f"left out: {'; '.join(left_out)} (--large models them too, which takes minutes)\n")


def _benched(exercise: Exercise, device: DeviceInfo, progress: Progress, *, large: bool) -> dict[str, Any]:
    from grader.bench.bench import bench

    return bench(exercise, device, progress.update, large=large)


def _draw(results: Path, exercise: Exercise, merged: Mapping[str, Any], *, modelled: bool) -> None:
    """Draw beside the results; the course's own go to its plots, because nothing reads them at run time."""
    if not figures.has_matplotlib():
        print("note: no plot was drawn, because matplotlib is not installed here", file=sys.stderr)
        return
    folder = PLOTS if results.parent == MEASURED else results.parent / "plots"
    path = folder / f"{results.stem}-{exercise.number}.png"
    entry = merged["exercises"][exercise.id]
    figures.bench_plot(exercise.id, entry, merged["device"], path, modelled=modelled)
