"""`./course starters [--check]`: write every exercise's starter from its solution."""

from __future__ import annotations

import json
import sys

from common.core.errors import CourseError
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import starters, student
from grader.spec import registry


def main(arguments: list[str]) -> int:
    parser = Parser("./course starters", __doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; print differences and exit with 1"
    )
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    drifted: list[str] = []
    for exercise in registry.all_exercises():
        if not exercise.solution.is_file():
            raise CourseError(f"{exercise.id} has no solution {exercise.solution} to make its starter from")
        diff = starters.difference(exercise.solution, exercise.starter)
        if not diff:
            continue
        drifted.append(exercise.id)
        if not options.check:
            text = starters.starter_text(exercise.solution.read_text(), str(exercise.solution))
            exercise.starter.write_text(text)
        if not options.json:
            print(diff if options.check else f"wrote {student.shown(exercise.starter)}\n", end="")
    if options.json:
        print(json.dumps({"drifted" if options.check else "written": drifted}, indent=1))
    elif not drifted:
        print("every starter matches its solution")
    elif options.check:
        print("`./course starters` rewrites the starters.", file=sys.stderr)
    return 1 if options.check and drifted else 0
