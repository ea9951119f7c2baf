"""`./course start NN`: put an exercise's starter into work/NN_name/, where it is yours to edit."""

from __future__ import annotations

import json

from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.spec import registry


def main(arguments: list[str]) -> int:
    parser = Parser("./course start", __doc__)
    shared.add_exercise(parser)
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    exercise = registry.find(options.exercise)
    copied, kept = student.start(exercise)
    if options.json:
        print(json.dumps({"made": list(map(str, copied)), "kept": list(map(str, kept))}, indent=1))
        return 0
    for path in copied:
        print(f"made  {student.shown(path)}")
    for path in kept:
        print(f"kept  {student.shown(path)} (it was there already)")
    folder = student.shown(student.work_folder(exercise.id))
    statement = f"Read {folder}/README.md, then fill" if (exercise.folder / "README.md").is_file() else "Fill"
    print(f"\n{exercise.number} {exercise.title}\n{statement} in {folder}/kernel.cu.")
    print(f"`./course check {exercise.number}` checks it; `./course hint {exercise.number}` helps.")
    return 0
