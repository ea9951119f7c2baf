"""`./course bench [NN]`: time baselines, solutions, variants and library alternatives over all bench shapes.

Results go to common/measured/<device>.json and plots to benchmarks/data/bench/plots/; other exercises'
entries are kept. On the virtual GPU the times are modelled and the file's name says so; shapes meant for a
GPU are left out there without --large.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.paths import MEASURED, REPOSITORY
from common.core.progress import Progress
from grader.bench.results import merge
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
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
    _, device = shared.settled(options)
    exercises = [registry.find(options.exercise)] if options.exercise else registry.all_exercises()
    path = options.output / f"{device.file_stem}.json"
    merged: dict[str, Any] = {}
    for exercise in exercises:
        progress = Progress(f"bench {exercise.id}")
        result = _benched(exercise, device, progress, large=options.large)
        progress.finish("done")
        merged = merge(path, result)
        _draw(path, exercise, merged, modelled=device.modelled)
        if not options.json:
            how = "modelled" if device.modelled else "measured"
            columns, rows = bench_rows(merged["exercises"][exercise.id])
            print(table(columns, rows, f"{exercise.id}, {how}"))
            if left_out := merged["exercises"][exercise.id].get("left_out"):
                print(f"left out: {'; '.join(left_out)} (--large models them too, which takes minutes)\n")
    if options.json:
        print(json.dumps(merged, indent=1))
    else:
        print(f"results: {student.shown(path)}")
    return 0


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
