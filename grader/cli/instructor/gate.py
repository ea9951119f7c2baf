"""`./course gate NN [FILE]`: may a kernel replace the exercise's baseline?

Judges FILE, or the reference solution, by the criteria that the exercise declares, and answers "keep" or
"fall back" with reasons. What could not be measured, or cannot be reached on this device, never counts as
met. The report goes to benchmarks/data/gate/, for a FILE to work/gate/. The exit status is 0 for "keep", 1
for "fall back".
"""

from __future__ import annotations

import json
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.core.progress import Progress
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student

REPORTS = REPOSITORY / "benchmarks" / "data" / "gate"


def main(arguments: list[str]) -> int:
    parser = Parser("./course gate", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    shared.add_device(parser)
    shared.add_json(parser)
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="let ncu and compute-sanitizer run FILE's host code, without its sandbox",
    )
    parser.add_argument("--output", metavar="DIR", type=Path)
    options = parser.parse_args(arguments)
    from grader.gate.find import find

    exercise, gate = find(options.exercise)
    own: Path | None = options.file
    if own is not None and not own.is_file():
        raise CourseError(f"there is no file {own}; without one the reference solution is judged")
    source = own or exercise.solution
    if not source.is_file():
        raise CourseError("there are no reference solutions here: name your own file after the exercise")
    _, device = shared.settled(options)
    from grader.gate.judge import judged
    from grader.gate.report import plain, terminal, write

    progress, trusted = Progress(f"gate {exercise.id}"), options.trusted or own is None
    report = judged(exercise, gate, source, student.shown(source), device, progress.update, trusted=trusted)
    progress.finish("done")

    data = plain(report, source.read_bytes())
    folder = options.output or (REPORTS if own is None else student.WORK / "gate")
    path = write(report, data, folder, f"{device.file_stem}-{exercise.number}")
    if options.json:
        print(json.dumps(data, indent=1))
    else:
        print(terminal(report))
        print(f"report: {student.shown(path)}")
    return 0 if report.verdict.keep else 1
