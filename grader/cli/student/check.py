"""`./course check NN [FILE]`: check your own kernel and show what to fix first.

Build errors, then the smallest failing case, then checks, mechanisms and speed. Without FILE it checks
work/NN_name/kernel.cu, made by `./course start NN`. The exit status is 0 when every case is right.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from common.core.progress import Progress
from grader.actions.check import checked, readable
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.cli.student.live import LiveResults
from grader.course import student
from grader.course.starters import Todo
from grader.pipeline.events import ignore
from grader.render.check import report, todo_lines
from grader.render.public import for_student
from grader.spec import Exercise, registry


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    exercise = registry.find(options.exercise)
    source = student.own_file(exercise, options.file)
    text = readable(exercise, source, options.step)
    settings, device = shared.settled(options)
    progress = Progress(f"checking {student.shown(source)}")
    live = LiveResults(progress)
    on_event = ignore if options.json else live
    found = checked(exercise, source, text, device, options.step, progress.update, on_event)
    progress.finish("done")
    record, todos = found.record, found.todos
    if record is None:
        return _untouched(exercise, source, todos, as_json=options.json)
    if options.json:
        print(
            json.dumps({**for_student(record).to_dict(), "todos": [vars(todo) for todo in todos]}, indent=1)
        )
    else:
        remark = settings.remark(device.kind)
        print(f"\n{report(exercise, record, todos, remark, file=source.name, shown=live.shown)}")
    return 0 if record.is_correct else 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser("./course check", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    parser.add_argument(
        "--step", metavar="K", type=int, help="check the K-th step alone, in an exercise that has steps"
    )
    shared.add_device(parser)
    shared.add_json(parser)
    return parser


def _untouched(exercise: Exercise, source: Path, todos: Sequence[Todo], *, as_json: bool) -> int:
    """Show what to do next, at once: an untouched starter has nothing to judge."""
    if as_json:
        plain = {
            "exercise": exercise.id,
            "verdict": "untouched starter",
            "todos": [vars(todo) for todo in todos],
        }
        print(json.dumps(plain, indent=1))
        return 1
    place = student.shown(source)
    print(f"{place} is still the starter as it was handed out. What to do next:\n")
    if source == exercise.starter:
        print(f"  `./course start {exercise.number}` puts your own copy into work/{exercise.id}/")
    print(todo_lines(place, todos))
    print(f"\nThen `./course check {exercise.number}` again; `./course hint {exercise.number}` opens a hint.")
    print("\nCorrectness: FAILED (nothing is written yet)")
    return 1
