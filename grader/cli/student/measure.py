"""`./course measure NN`: measure what the questions of an exercise are about, and show it as a table.

Writes measurement.json into your folder, work/NN_name/, where `./course answers` reads it. Options behind NN
go to the program that measures: `./course measure NN --help` lists them.
"""

from __future__ import annotations

import subprocess
import sys

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.questions.sheets import MEASUREMENT
from grader.spec import registry


def main(arguments: list[str]) -> int:
    number, rest = arguments[:1], arguments[1:]
    parser = Parser("./course measure", __doc__)
    shared.add_exercise(parser)
    exercise = registry.find(parser.parse_args(number).exercise)
    programs = [sheet.measured_by for sheet in exercise.sheets if sheet.measured_by]
    if not programs:
        raise CourseError(
            f"{exercise.id} asks nothing that has to be measured: `./course check` times kernels"
        )
    folder = student.work_folder(exercise.id)
    if not folder.is_dir():
        raise CourseError(f"there is no {student.shown(folder)}: `./course start {exercise.number}` makes it")
    program = str(REPOSITORY / programs[0])
    measured = ["--measurement", student.shown(folder / MEASUREMENT)]
    return subprocess.run([sys.executable, program, *measured, *rest], check=False).returncode
