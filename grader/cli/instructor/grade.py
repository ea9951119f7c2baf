"""`./course grade [PATH…]`: grade submissions; with no path, every reference solution, as a self-check.

PATH is a folder of students (student/NN_name/kernel.cu, or with --exercise student/kernel.cu or student.cu),
one file, or a zip. Records go to OUTPUT/records at once; the same command again goes on where a run was
stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.build.engine.build import build_engine
from common.core.errors import CourseError
from grader.building.scratch_folder import scratch_folder
from grader.classes import similarity
from grader.classes.class_run import UNGRADED, ClassRun, grade_all
from grader.classes.submissions import Submission, find_submissions
from grader.cli import options as shared
from grader.cli.parser import Parser, above_zero, count
from grader.course.settings import Settings, choose_device, read_settings
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.records.replay import differences
from grader.render import terminal
from grader.render.csv import write_csv
from grader.render.gradescope import write_results
from grader.render.pages.class_page import write_pages
from grader.spec import registry
from grader.words import numbers

_EPILOGUE = """\
The exit status is 0 when every submission got a verdict, whatever its points. As a self-check it is 1 when a
reference solution misses full marks, and with --replay when the outcome is another.
"""


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return _replay(options)
    settings = read_settings(options.settings)
    device = choose_device(options.device, settings)
    if not device.modelled and (options.jobs or 1) > 1:
        raise CourseError("on a GPU submissions are graded one at a time: leave out --jobs")
    shared.announce(device, settings, to_stderr=options.json)
    return (_grade_paths if options.paths else _self_check)(options, settings, device)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="./course grade",
        description=__doc__,
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", type=Path)
    shared.add_device(parser)
    shared.add_json(parser)
    add("--exercise", metavar="NN", help="of files whose names do not say it; in a self-check, only this one")
    add("--output", metavar="DIR", type=Path, help=f"for records (default: {shared.DEFAULT_GRADES}/)")
    add("--fresh", action="store_true", help="grade again what has a record already")
    add("--jobs", metavar="N", type=count, help="at once, on the virtual GPU (default: one a CPU)")
    add(
        "--wall-seconds",
        metavar="S",
        type=above_zero,
        help="the most CPU time and sleep for one submission (default: 300)",
    )
    add("--csv", metavar="FILE", type=Path, help="write a table for spreadsheets")
    add("--html", metavar="DIR", type=Path, help="write a page a submission, and an index")
    add("--gradescope", metavar="FILE", type=Path, help="write results.json (of one submission)")
    add(
        "--replay",
        metavar="RECORD",
        type=Path,
        help="repeat a grading with its seed on the same kind of device",
    )
    return parser


def _grade_paths(options: argparse.Namespace, settings: Settings, device: DeviceInfo) -> int:
    known = [folder.name for folder in registry.exercise_folders()]
    chosen = registry.find(options.exercise).id if options.exercise else None
    with scratch_folder() as scratch:
        found = find_submissions(options.paths, known, exercise=chosen, scratch=scratch)
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
        if options.gradescope and len(found.submissions) != 1:
            raise CourseError(f"--gradescope is for one submission; {len(found.submissions)} were found")
        run = _run(options, settings, device, options.output or shared.DEFAULT_GRADES)
        records = _graded(run, found.submissions)
    _write_similarity(run, records)
    _show(options, settings, run, records)
    return 0


def _self_check(options: argparse.Namespace, settings: Settings, device: DeviceInfo) -> int:
    exercises = [registry.find(options.exercise)] if options.exercise else registry.all_exercises()
    if not exercises:
        raise CourseError(f"there is no exercise in {registry.EXERCISES}")
    if not registry.SOLUTIONS.is_dir():
        raise CourseError("there are no reference solutions here to grade: name a file, with --exercise NN")
    references = [Submission("reference", exercise.id, exercise.solution) for exercise in exercises]
    options.fresh = True
    with scratch_folder() as scratch:
        run = _run(options, settings, device, options.output or scratch)
        records = _graded(run, references)
        _show(options, settings, run, records)
    return 0 if all(_has_full_marks(record) for record in records) else 1


def _run(options: argparse.Namespace, settings: Settings, device: DeviceInfo, output: Path) -> ClassRun:
    build_engine()  # once on a machine, for minutes: no submission's time
    return ClassRun(
        device=device,
        exercises={exercise.id: exercise for exercise in registry.all_exercises()},
        output=output,
        wall_seconds=options.wall_seconds or settings.wall_seconds,
        jobs=options.jobs,
        fresh=options.fresh,
    )


def _graded(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    try:
        return grade_all(run, submissions)
    except KeyboardInterrupt:
        print("\nThe records written so far are whole: the same command goes on from there.", file=sys.stderr)
        raise


def _has_full_marks(record: Record) -> bool:
    return record.max_points > 0 and record.points >= record.max_points


def _write_similarity(run: ClassRun, records: Sequence[Record]) -> None:
    """For a person: which submissions of one exercise read alike."""
    by_exercise: dict[str, dict[str, str]] = {}
    for record in records:
        if record.source:
            by_exercise.setdefault(record.exercise, {})[record.submission] = record.source
    if all(len(sources) < 2 for sources in by_exercise.values()):
        return
    pairs: list[similarity.Pair] = []
    for name, sources in by_exercise.items():
        exercise = run.exercises[name]
        pairs += similarity.similar_pairs(name, sources, (exercise.starter, exercise.baseline))
    similarity.write_csv(pairs, run.output / "similarity.csv")
    if pairs:
        told = f"{numbers.counted(len(pairs), 'pair')} of submissions read alike"
        print(f"note: {told}: see {run.output / 'similarity.csv'}", file=sys.stderr)


def _show(options: argparse.Namespace, settings: Settings, run: ClassRun, records: Sequence[Record]) -> None:
    remark = settings.remark(run.device.kind)
    _write_files(options, records, remark)
    if options.json:
        print(json.dumps([_plain(run, record, official=not remark) for record in records], indent=1))
        return
    detailed = [r for r in records if len(records) == 1 or (not options.paths and not _has_full_marks(r))]
    for record in detailed:
        print(terminal.summary(record, remark))
    if len(records) > 1:
        print(terminal.class_table(records, remark))
    if options.paths:
        print(f"records: {run.output / 'records'}")
    if failed := [record for record in records if record.verdict == UNGRADED]:
        print(f"{len(failed)} {UNGRADED}; the flags say why, --fresh tries again", file=sys.stderr)


def _write_files(options: argparse.Namespace, records: Sequence[Record], remark: str) -> None:
    try:
        if options.csv:
            write_csv(records, options.csv, official=not remark)
        if options.gradescope:
            write_results(records[0], options.gradescope, remark)
        if options.html:
            index = write_pages(records, options.html, remark)
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
    before = Record.read(options.replay)
    if not before.source or not before.seed:
        raise CourseError(f"{options.replay} holds no source to repeat: its verdict was {before.verdict!r}")
    if options.device and options.device != before.device.kind:
        raise CourseError(f"{options.replay} was made on {before.device.kind!r}: leave out --device")
    exercise = registry.find(before.exercise)
    settings = read_settings(options.settings)
    device = before.device if before.device.modelled else choose_device(before.device.kind, settings)
    shared.announce(device, settings, to_stderr=options.json)
    with scratch_folder() as scratch:
        source = scratch / before.file
        source.write_bytes(before.source.encode())
        run = ClassRun(
            device,
            {exercise.id: exercise},
            scratch / "out",
            options.wall_seconds or settings.wall_seconds,
            seed=before.seed,
        )
        [after] = grade_all(run, [Submission(before.submission, exercise.id, source)])
    changed = differences(before, after)
    if options.json:
        print(json.dumps({"same": not changed, "differences": changed, "verdict": after.verdict}, indent=1))
    elif changed:
        print("the outcome is another:", *(f"  {line}" for line in changed), sep="\n")
    else:
        print(f"the outcome is the same: {after.verdict}, {after.points:g} of {after.max_points:g} points")
    return 1 if changed else 0
