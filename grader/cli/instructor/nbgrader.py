"""`./course nbgrader [--class DIR] COMMAND …`: nbgrader on the class in work/class, or in DIR.

Every command of nbgrader works (`./course nbgrader --help` lists them), and assignments may be named by their
numbers: generate_assignment 01, release_assignment 01, collect 01, generate_feedback 01, export, …

autograde is the course's own: all kernels first, in parallel and resumable, then their points. So is
generate_feedback, which writes the pages again whose points, comments or reasons changed. formgrader opens
JupyterLab on the class, at the page with results and answers to read.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from common.core.errors import CourseError
from grader.actions.grade import note_on_alike
from grader.classes.class_run import ClassRun
from grader.classes.local_processes import LocalProcesses
from grader.classes.run_log import read_runs
from grader.cli import options as shared
from grader.cli.parser import Parser, count
from grader.cluster.choose import Place, check_jobs, device_of, executor_for
from grader.course.settings import read_settings
from grader.nbgrader.class_folder import ClassFolder, assignments, default_folder, find_assignment
from grader.nbgrader.jupyter import start_formgrader
from grader.records.record import Record
from grader.render.pages.run_page import write_run_page
from grader.render.pages.statistics_page import NAME as STATISTICS
from grader.render.pages.statistics_page import write_statistics
from grader.words import numbers
from grader.words.text import table

if TYPE_CHECKING:
    from grader.nbgrader.class_grading import Graded
    from grader.nbgrader.term.forecast import Expected, Forecast

_CLASS = "--class"
_HELP = {"-h", "--help"}


def main(arguments: list[str]) -> int:
    folder, rest = _class_folder(arguments)
    if not rest or rest[0] in _HELP:
        print(__doc__)
    elif rest[0] == "autograde":
        return _autograde(folder, rest[1:])
    elif rest[0] == "generate_feedback":
        return _generate_feedback(folder, rest[1:])
    elif rest[0] == "formgrader":
        return start_formgrader(folder, rest[1:])
    elif rest[0] == "export":
        from grader.nbgrader.term.renew_feedback import take_in_given

        # What was given by hand since the last autograde.
        take_in_given(folder, _database(rest[1:]))
    from grader.nbgrader.apps import commands, is_installed, must_be_installed, run_nbgrader

    if _HELP & set(rest) and not is_installed():
        print("nbgrader's own help comes with it: the first command without --help installs it.")
        return 0
    must_be_installed()
    if rest and not rest[0].startswith("-") and rest[0] not in (known := commands()):
        raise CourseError(f"nbgrader has no command {rest[0]!r}{_meant(rest[0], known)}")
    return run_nbgrader(folder, [*map(_named, rest)])


def _class_folder(arguments: Sequence[str]) -> tuple[ClassFolder, list[str]]:
    """The option must precede the command: everything after that goes to nbgrader."""
    rest = list(arguments)
    if not rest or not rest[0].startswith("-") or rest[0] in _HELP:
        return default_folder(), rest
    name, _, value = rest[0].partition("=")
    if name != _CLASS and difflib.get_close_matches(name, [_CLASS]):
        raise CourseError(f"there is no option {name}: did you mean {_CLASS} DIR?")
    if name != _CLASS:
        return default_folder(), rest  # of nbgrader itself, such as --version
    rest.pop(0)
    if not (value or rest):
        raise CourseError(f"{_CLASS} needs a folder: {_CLASS} DIR")
    return ClassFolder(Path(value or rest.pop(0)).absolute()), rest


def _meant(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {close[0]}?" if close else f"; it has {', '.join(sorted(known))}"


def _must_be_options(app: str, arguments: Sequence[str], own: argparse.ArgumentParser) -> None:
    """Raises CourseError for an option that neither this command nor nbgrader's has, which passes over it."""
    from grader.nbgrader.apps import options_of

    known = {*options_of(app), *(name for action in own._actions for name in action.option_strings)}
    for word in arguments:
        name = word.partition("=")[0]
        if word.startswith("-") and name not in known and "." not in name:  # --Class.setting is nbgrader's
            raise CourseError(f"there is no option {name}{_meant(name, known)}")


def _database(arguments: Sequence[str]) -> list[str]:
    """nbgrader's option for another gradebook, among those of its command."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--db")
    found = parser.parse_known_args(arguments)[0].db
    return [f"--db={found}"] if found else []


def _named(argument: str) -> str:
    """A notebook's number becomes its name in nbgrader; anything else stays."""
    if not argument.isdecimal():
        return argument
    try:
        return find_assignment(argument)
    except CourseError:
        return argument


def _autograde(folder: ClassFolder, arguments: list[str]) -> int:
    from grader.nbgrader.apps import must_be_installed

    parser = _parser()
    options, for_nbgrader = parser.parse_known_args(arguments)
    must_be_installed()
    _must_be_options("autograde", for_nbgrader, parser)
    from grader.nbgrader.class_grading import autograde, chosen_submissions
    from grader.nbgrader.gradebook import check_gradebook
    from grader.nbgrader.kernels import class_run
    from grader.nbgrader.term.forecast import forecast

    submissions = chosen_submissions(folder, options.assignments, options.student)
    settings = read_settings()
    check_jobs(options.jobs, options.on, settings)
    if options.dry_run:
        there = Place(LocalProcesses(), device_of(options.on, settings, options.device))  # grades nothing
        run = class_run(folder, fresh=options.force, place=there)
        show_forecast(forecast(folder, run, submissions, arguments=for_nbgrader), as_json=options.json)
        return 0
    check_gradebook(folder, for_nbgrader)  # before a cluster is asked for machines
    with executor_for(options.on, settings, options.device) as place:
        run = class_run(folder, jobs=options.jobs, fresh=options.force, place=place)
        shared.announce(run.device, settings, to_stderr=options.json)
        try:
            graded = autograde(folder, run, submissions, arguments=for_nbgrader)
        except KeyboardInterrupt:
            print("\nWhat was graded is kept: the same command continues from there.")
            raise
    _look_at_all(folder, run)
    show_graded(graded, as_json=options.json)
    return 1 if any(one.problem for one in graded) else 0


def _look_at_all(folder: ClassFolder, run: ClassRun) -> None:
    """Write what is seen in the records of all submissions together, and of the class's runs: statistics, how
    runs went, kernels that are alike. The record that a removed submission leaves does not count."""
    from grader.nbgrader.class_grading import handed_in
    from grader.nbgrader.kernels import submission_of

    pairs = handed_in(folder, list(run.exercises))
    paths = (run.record_path(submission_of(folder, *pair)) for pair in pairs)
    known = [Record.read(path) for path in paths if path.exists()]
    page = write_statistics(known, folder.grades / STATISTICS)
    print(f"statistics: {page}", file=sys.stderr)
    if runs := read_runs(run.output):
        print(f"the runs: {write_run_page(runs, folder.grades)}", file=sys.stderr)
    if note := note_on_alike(run, known):
        print(f"note: {note}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    about = "Grade submissions. Other options, such as --db=URL, go to nbgrader."
    parser = Parser("./course nbgrader autograde", about)
    add = parser.add_argument
    add("assignments", metavar="NN", nargs="*", help="default: every notebook with submissions")
    add("--all", action="store_true", help="the same as the default")
    add("--student", metavar="ID", action="append", default=[], help="only this one; may be repeated")
    add("--jobs", metavar="N", type=count, help="at once, on the virtual GPU (default: one per CPU)")
    add("--force", action="store_true", help="grade again what was graded before")
    add("--dry-run", action="store_true", help="say what would change, and change nothing")
    add("--device", choices=shared.KINDS, help="default: the course's official device, else a GPU if any")
    shared.add_on(parser)
    shared.add_json(parser)
    return parser


def _generate_feedback(folder: ClassFolder, arguments: list[str]) -> int:
    from grader.nbgrader.apps import must_be_installed

    parser = Parser("./course nbgrader generate_feedback", "Write what students get back, where it changed.")
    parser.add_argument("assignments", metavar="NN", nargs="*", help="default: every graded notebook")
    parser.add_argument("--student", metavar="ID", action="append", default=[], help="only this one")
    parser.add_argument("--force", action="store_true", help="also what has not changed")
    options, for_nbgrader = parser.parse_known_args(arguments)
    must_be_installed()
    _must_be_options("generate_feedback", for_nbgrader, parser)
    from grader.nbgrader.term.renew_feedback import autograded, renew_feedback

    chosen = [find_assignment(name) for name in options.assignments] or assignments()
    pairs = autograded(folder, chosen, options.student)
    if not pairs:
        whose = f" of {', '.join(options.student)}" if options.student else ""
        raise CourseError(
            f"nothing{whose} is graded below {folder.autograded}: `./course nbgrader autograde` first"
        )
    done = renew_feedback(folder, pairs, arguments=for_nbgrader, force=options.force)
    for problem in done.problems.values():
        print(f"error: {problem}", file=sys.stderr)
    print(f"{numbers.counted(len(done.written), 'page')} written, {len(done.kept)} kept as they are")
    return 1 if done.problems else 0


def show_graded(graded: Sequence[Graded], *, as_json: bool) -> None:
    if as_json:
        rows = [{"student": g.student, "assignment": g.assignment, **_plain(g)} for g in graded]
        print(json.dumps(rows, indent=1))
        return
    print(
        table(
            ("student", "notebook", ">points", ">of", "kernel", "then"),
            [
                (
                    one.student,
                    one.assignment,
                    numbers.points(one.points),
                    numbers.points(one.most),
                    one.record.verdict if one.record else "",
                    _in_a_line(one.problem) if one.problem else "answers to read" if one.by_hand else "",
                )
                for one in graded
            ],
        )
    )


def show_forecast(found: Forecast, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(found), indent=1))
        return
    for line in found.changes:
        print(line)
    changing = [one for one in found.submissions if one.why]
    if changing:
        columns = ("student", "notebook", ">points now", ">then", "because")
        print(table(columns, [_expected_row(one) for one in changing]))
    same = len(found.submissions) - len(changing)
    stays = "will stay as it is" if same == 1 else "will stay as they are"
    print(f"{numbers.counted(same, 'submission')} {stays}. Nothing was changed.")


def _expected_row(one: Expected) -> tuple[str, ...]:
    now = "–" if one.now is None else numbers.points(one.now)
    then = "graded" if one.then is None else numbers.points(one.then)
    return one.student, one.assignment, now, then, one.why


def _in_a_line(problem: str) -> str:
    """The first and last lines: nbgrader's messages end with the error."""
    first, *others = problem.splitlines()
    return f"{first} {others[-1].strip()}" if others else first


def _plain(one: Graded) -> dict[str, object]:
    return {
        "points": one.points,
        "max_points": one.most,
        "kernel_points": one.record.points if one.record else None,
        "verdict": one.record.verdict if one.record else "",
        "needs_manual_grade": one.by_hand,
        "problem": one.problem,
    }
