"""`./course gradescope NN [FILE]`: write the zip that Gradescope makes an autograder from, for one exercise.

Upload it as the autograder of a programming assignment. Gradescope runs its setup.sh once and its
run_autograder for each submission: a kernel.cu, or the only .cu file in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from common.core.errors import CourseError
from grader.actions.grade import graded
from grader.classes.class_run import SECRET, UNGRADED, ClassRun
from grader.classes.submissions import KERNEL, PYTHON_KERNEL, Submission
from grader.cli.parser import Parser
from grader.course.settings import choose_device, read_settings
from grader.nbgrader.gradescope import Autograder, Folders, write_autograder
from grader.records.record import Record
from grader.render.gradescope import Visibility, write_results
from grader.spec import Exercise, registry
from grader.words import numbers

_STUDENT = "submission"


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.grade is not None:
        return _grade(Folders(options.grade.absolute()), trial=options.trial)
    if options.exercise is None:
        raise CourseError("name an exercise: ./course gradescope 01")
    exercise = registry.find(options.exercise)
    path = options.file or Path(f"gradescope-{exercise.id}.zip")
    chosen = Autograder(exercise.id, options.visibility, options.hidden_cases, options.leaderboard)
    secret = _secret_of(options.grades) if options.grades else ""
    count = write_autograder(exercise, path, chosen, secret=secret, with_engine=options.with_engine)
    size = path.stat().st_size / 1e6
    whose = f"the secret of {options.grades}" if secret else "a secret of its own, which draws hidden cases"
    print(f"{path}: {numbers.counted(count, 'file')}, {size:.1f} MB. It has {whose}: keep it from students.")
    print(
        "In Gradescope, make a programming assignment with "
        f"{numbers.points(exercise.max_points)} autograder points, upload the zip as its autograder, and "
        "choose an Ubuntu image with the most CPU and memory."
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("./course gradescope", __doc__)
    add = parser.add_argument
    add("exercise", metavar="NN", nargs="?")
    add("file", metavar="FILE", nargs="?", type=Path, help="default: gradescope-NN_name.zip, here")
    names = get_args(Visibility)
    add("--visibility", choices=names, default="visible", help="of all results")
    add("--hidden-cases", choices=names, default="visible", help="of the results of hidden cases")
    add("--leaderboard", action="store_true", help="show points and speed on Gradescope's leaderboard")
    add(
        "--grades",
        metavar="DIR",
        type=Path,
        help="take the secret from there: the same hidden cases as ./course grade",
    )
    add("--with-engine", action="store_true", help="add the virtual GPU as this machine builds it")
    add("--grade", metavar="ROOT", type=Path, help="what run_autograder does; ROOT is /autograder")
    add("--try", dest="trial", action="store_true", help="with --grade: grade the starter, write no results")
    return parser


def _secret_of(folder: Path) -> str:
    try:
        return (folder / SECRET).read_text()
    except OSError as problem:
        raise CourseError(f"{folder} has no secret of a class: {problem.strerror}") from problem


def _grade(folders: Folders, *, trial: bool) -> int:
    """Without results.json Gradescope says that the autograder failed, and to contact the staff: right where
    the grader is at fault."""
    chosen = folders.autograder()
    exercise = registry.find(chosen.exercise)
    submission = Submission("starter", exercise.id, exercise.starter) if trial else _found(folders, exercise)
    settings = read_settings()
    run = ClassRun(
        device=choose_device(None, settings),
        exercises={exercise.id: exercise},
        output=folders.grades,
        wall_seconds=settings.wall_seconds,
        fresh=True,
    )
    [record] = graded(run, [submission])
    print(f"{record.verdict}: {numbers.points_of(record.points, record.max_points)} points")
    if record.verdict == UNGRADED:
        print("\n".join(record.flags), file=sys.stderr)
        return 1
    if not trial:
        _write(folders, chosen, record, settings.remark(run.device.kind))
    return 0


def _write(folders: Folders, chosen: Autograder, record: Record, remark: str) -> None:
    folders.results.parent.mkdir(exist_ok=True)
    write_results(
        record,
        folders.results,
        remark,
        visibility=chosen.visibility,
        hidden_cases=chosen.hidden_cases,
        leaderboard=chosen.leaderboard,
    )


def _found(folders: Folders, exercise: Exercise) -> Submission:
    """The file to grade. Where there is none, the record says so, and the student sees it."""
    place = folders.submission
    wanted = [KERNEL, PYTHON_KERNEL] if exercise.python else [KERNEL]
    for name in wanted:
        if (place / name).is_file():
            return Submission(_STUDENT, exercise.id, place / name)
    others = sorted(path for path in place.rglob("*.cu") if path.is_file())
    if len(others) == 1:
        return Submission(_STUDENT, exercise.id, others[0])
    reason = (
        f"there are {len(others)} .cu files and none is named {KERNEL}" if others else "there is no .cu file"
    )
    return Submission(_STUDENT, exercise.id, place / KERNEL, f"{reason}: submit {' or '.join(wanted)}")
