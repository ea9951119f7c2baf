"""`./course grade [PATH…]`: grade submissions; with no path, every reference solution, as a self-check.

PATH is a folder of students (student/NN_name/kernel.cu, or with --exercise student/kernel.cu or student.cu),
one file, or a zip. Records go to OUTPUT/records at once; after a stop, the same command continues.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.actions.grade import (
    device_to_repeat,
    found_in,
    graded,
    has_full_marks,
    note_on_alike,
    references,
    repeatable,
    repeated,
)
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import UNGRADED, ClassRun, draw_new_secret
from grader.classes.run_log import read_runs
from grader.classes.submissions import Submission
from grader.cli import options as shared
from grader.cli.parser import Parser, above_zero, count
from grader.cluster.choose import Place, check_jobs, executor_for
from grader.course.settings import Settings, read_settings
from grader.records.record import Record
from grader.records.replay import differences
from grader.render import terminal
from grader.render.csv import write_csv
from grader.render.gradescope import write_results
from grader.render.pages.class_page import write_pages
from grader.spec import registry

_EPILOGUE = """\
The exit status is 0 when every submission got a verdict, whatever its points. As a self-check it is 1 when a
reference solution misses full marks, and with --replay when the outcome differs.
"""


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return _replay(options)
    settings = read_settings(options.settings)
    check_jobs(options.jobs, options.on, settings)
    with executor_for(options.on, settings, options.device) as place:
        if not place.device.modelled and (options.jobs or 1) > 1:
            raise CourseError("on a GPU submissions are graded one at a time: leave out --jobs")
        shared.announce(place.device, settings, to_stderr=options.json)
        return (_grade_paths if options.paths else _self_check)(options, settings, place)


def _parser() -> argparse.ArgumentParser:
    parser = Parser("./course grade", __doc__, epilog=_EPILOGUE)
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", type=Path)
    shared.add_device(parser)
    shared.add_on(parser)
    shared.add_json(parser)
    add("--exercise", metavar="NN", help="of files whose names lack it; in a self-check, only this one")
    add("--output", metavar="DIR", type=Path, help=f"for records (default: {shared.DEFAULT_GRADES}/)")
    add("--fresh", action="store_true", help="grade again what has a record already")
    add(
        "--new-secret",
        action="store_true",
        help="draw other hidden cases for the class from now on, and grade everything again",
    )
    add("--jobs", metavar="N", type=count, help="at once, on the virtual GPU (default: one per CPU)")
    add(
        "--wall-seconds",
        metavar="S",
        type=above_zero,
        help="the most CPU time and sleep for one submission (default: 300)",
    )
    add("--csv", metavar="FILE", type=Path, help="write a table for spreadsheets")
    add(
        "--html",
        metavar="DIR",
        type=Path,
        help="write one page per submission, an index, and a page on the run",
    )
    add("--gradescope", metavar="FILE", type=Path, help="write results.json (of one submission)")
    add(
        "--replay",
        metavar="RECORD",
        type=Path,
        help="repeat a grading with its seed on the same kind of device",
    )
    return parser


def _grade_paths(options: argparse.Namespace, settings: Settings, place: Place) -> int:
    with scratch_folder() as scratch:
        found = found_in(options.paths, options.exercise, scratch)
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
        if options.gradescope and len(found.submissions) != 1:
            raise CourseError(f"--gradescope is for one submission; {len(found.submissions)} were found")
        run = _run(options, settings, place, options.output or shared.DEFAULT_GRADES)
        if options.new_secret:
            draw_new_secret(run)
        records = _graded(run, found.submissions)
    _show(options, settings, run, records)
    if note := note_on_alike(run, records):
        print(f"note: {note}", file=sys.stderr)
    return 0


def _self_check(options: argparse.Namespace, settings: Settings, place: Place) -> int:
    options.fresh = True
    with scratch_folder() as scratch:
        solutions = references(options.exercise)
        run = _run(options, settings, place, options.output or scratch)
        records = _graded(run, solutions)
        _show(options, settings, run, records)
    usable = bool(options.exercise) or not registry.bad_exercises()
    return 0 if usable and all(has_full_marks(record) for record in records) else 1


def _run(options: argparse.Namespace, settings: Settings, place: Place, output: Path) -> ClassRun:
    return ClassRun(
        device=place.device,
        exercises={exercise.id: exercise for exercise in registry.all_exercises()},
        output=output,
        wall_seconds=options.wall_seconds or settings.wall_seconds,
        jobs=options.jobs,
        fresh=options.fresh,
        executor=place.executor,
    )


def _graded(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    try:
        return graded(run, submissions)
    except KeyboardInterrupt:
        print("\nThe records written so far are complete; the same command continues.", file=sys.stderr)
        raise


def _show(options: argparse.Namespace, settings: Settings, run: ClassRun, records: Sequence[Record]) -> None:
    remark = settings.remark(run.device.kind)
    _write_files(options, run, records, remark)
    if options.json:
        print(json.dumps([_plain(run, record, official=not remark) for record in records], indent=1))
        return
    detailed = [r for r in records if len(records) == 1 or (not options.paths and not has_full_marks(r))]
    for record in detailed:
        print(terminal.summary(record, remark))
    if len(records) > 1:
        print(terminal.class_table(records, remark))
    if options.paths:
        print(f"records: {run.output / 'records'}")
    if failed := [record for record in records if record.verdict == UNGRADED]:
        print(f"{len(failed)} {UNGRADED}; their flags give the reasons, --fresh tries again", file=sys.stderr)


def _write_files(options: argparse.Namespace, run: ClassRun, records: Sequence[Record], remark: str) -> None:
    try:
        if options.csv:
            write_csv(records, options.csv, official=not remark)
        if options.gradescope:
            write_results(records[0], options.gradescope, remark)
        if options.html:
            index = write_pages(records, options.html, remark, read_runs(run.output))
            print(f"pages: {index}", file=sys.stderr)
    except OSError as problem:
        raise CourseError(f"{problem.filename} cannot be written: {problem.strerror}") from problem


def _plain(run: ClassRun, record: Record, *, official: bool) -> dict[str, Any]:
    path = run.record_path(Submission(record.submission, record.exercise, Path()))
    return {
        "submission": record.submission,
        "exercise": record.exercise,
        "device": record.device.kind,
        "device_name": record.device.name,
        "official": official,
        "points": record.points,
        "max_points": record.max_points,
        "verdict": record.verdict,
        "parts": {part.name: part.points for part in record.parts},
        "modelled": record.speed.modelled if record.speed else None,
        "flags": record.flags,
        "seconds": record.seconds,
        "record": str(path),
    }


def _replay(options: argparse.Namespace) -> int:
    if not options.replay.is_file():
        raise CourseError(
            f"there is no record {options.replay}: `./course grade` writes them to "
            f"{shared.DEFAULT_GRADES}/records/NN_name/STUDENT.json"
        )
    before = repeatable(options.replay, options.device)
    settings = read_settings(options.settings)
    device = device_to_repeat(before, settings)
    shared.announce(device, settings, to_stderr=options.json)
    after = repeated(before, device, options.wall_seconds or settings.wall_seconds)
    changed = differences(before, after)
    if options.json:
        print(json.dumps({"same": not changed, "differences": changed, "verdict": after.verdict}, indent=1))
    elif changed:
        print("the outcome differs:", *(f"  {line}" for line in changed), sep="\n")
    else:
        print(f"the outcome is the same: {after.verdict}, {after.points:g} of {after.max_points:g} points")
    return 1 if changed else 0
