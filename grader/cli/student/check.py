"""`./course check NN [FILE]`: how your own kernel stands, the first useful answer first.

Build errors, then the smallest failing case, then checks, mechanisms and speed. Without FILE it takes
work/NN_name/kernel.cu, made by `./course start NN`. The exit status is 0 when every case is right.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from common.core.progress import Progress
from grader.classes.submissions import Submission, read_source
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.cli.student.live import LiveResults
from grader.course import starters, student
from grader.course.starters import Todo
from grader.pipeline.record import Record, Speed, SpeedCase
from grader.pipeline.stages.events import BuildDone, CaseDone, Event, Hear, nobody
from grader.render import terminal
from grader.render.findings import findings_text
from grader.render.public import for_student
from grader.spec import Exercise, Speedup, registry
from grader.words import numbers


@dataclass(frozen=True)
class Checked:
    """How a file stands: its record, none while it is still the starter, and the tasks that are left."""

    record: Record | None
    todos: list[Todo]


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    exercise = registry.find(options.exercise)
    source = student.own_file(exercise, options.file)
    text = readable(exercise, source, options.step)
    settings, device = shared.settled(options)
    progress = Progress(f"checking {student.shown(source)}")
    live = LiveResults(progress)
    hear = nobody if options.json else live
    found = checked(exercise, source, text, device.kind, options.step, progress.update, hear)
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
    return 0 if is_correct(record) else 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="./course check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    parser.add_argument(
        "--step", metavar="K", type=int, help="check the K-th step alone, in an exercise that has steps"
    )
    shared.add_device(parser)
    shared.add_json(parser)
    return parser


def readable(exercise: Exercise, source: Path, step: int | None) -> str:
    """The file's text. Raises CourseError where it cannot be checked, or there is no such step."""
    _know_step(exercise, step)
    try:
        return read_source(Submission("", exercise.id, source.resolve())).decode()
    except CourseError as problem:
        raise CourseError(f"{source} cannot be checked: {problem}") from problem


def checked(
    exercise: Exercise,
    source: Path,
    text: str,
    device: str,
    step: int | None,
    tell: Callable[[str], None],
    hear: Hear = nobody,
) -> Checked:
    """Grade a student's own file; `hear` is told of results as they come. That of the whole exercise is
    remembered for `./course list`."""
    todos = starters.open_todos(text)
    if exercise.starter.is_file() and starters.is_untouched(text, exercise.starter.read_text()):
        return Checked(None, todos)
    record = _grade(exercise, source, device, step, tell, hear)
    if step is None:
        _remember(exercise, record)
    return Checked(record, todos)


def _know_step(exercise: Exercise, step: int | None) -> None:
    if step is None or 1 <= step <= len(exercise.steps):
        return
    names = [f"{number} ({one.name})" for number, one in enumerate(exercise.steps, 1)]
    known = f"its steps are {', '.join(names)}, and then comes the whole" if names else "it is all one"
    raise CourseError(f"{exercise.id} has no step {step}: {known}; leave the step out to check that")


def _grade(
    exercise: Exercise, source: Path, device: str, step: int | None, tell: Callable[[str], None], hear: Hear
) -> Record:
    from grader.pipeline.grading import grade

    return grade(
        exercise, source, submission="yours", device=device, quick=True, step=step, tell=tell, hear=hear
    )


def _untouched(exercise: Exercise, source: Path, todos: Sequence[Todo], *, as_json: bool) -> int:
    """Nothing to judge yet: what to do next is the useful answer, and it takes no time."""
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
    print(_todo_lines(place, todos))
    print(f"\nThen `./course check {exercise.number}` again; `./course hint {exercise.number}` opens a hint.")
    print("\nCorrectness: FAILED (nothing is written yet)")
    return 1


def _todo_lines(place: str, todos: Sequence[Todo]) -> str:
    return "\n".join(f"  {place}:{todo.line}  {todo.text}" for todo in todos)


def report(
    exercise: Exercise,
    record: Record,
    todos: Sequence[Todo],
    remark: str = "",
    *,
    file: str = "kernel.cu",
    shown: Collection[type[Event]] = (),
) -> str:
    """What to mend first, or how good it is; the last lines say correctness and performance. What has been
    `shown` already is not said again."""
    first = () if BuildDone in shown else (terminal.diagnostics(record.diagnostics),)
    failed = () if CaseDone in shown else (terminal.failures(record),)
    sections: tuple[str, ...]
    steps = [step.name for step in exercise.steps]
    if not is_correct(record):
        open_tasks = f"still to do:\n{_todo_lines(file, todos)}\n" if todos else ""
        sections = (
            *first,
            terminal.steps_table(record, steps),
            terminal.case_count(record),
            terminal.left_out(record),
            *failed,
            findings_text(record),
            terminal.printed(record),
            open_tasks,
            f"Correctness: FAILED ({record.verdict})",
        )
    else:
        sections = (
            *first,
            terminal.steps_table(record, steps),
            terminal.case_count(record),
            terminal.left_out(record),
            findings_text(record),
            terminal.mechanisms(record),
            terminal.speed_table(record),
            terminal.printed(record),
            terminal.points_table(record),
            f"{remark}\n" if remark else "",
            "\n".join(("Correctness: PASSED", *performance_lines(exercise, record.speed))),
        )
    return "\n".join(section for section in sections if section)


def performance_lines(exercise: Exercise, speed: Speed | None) -> list[str]:
    """Baseline, kernel and their ratio at the largest shape of the target; modelled times say so."""
    case = _headline(exercise, speed)
    if speed is None or case is None:
        return ["Performance: not measured"]
    how = f"{'modelled, ' if speed.modelled else ''}{terminal.how_timed([case.protocol])}; "
    baseline_rate = case.bytes / case.baseline_seconds if case.baseline_seconds > 0 else 0.0
    overall = ""
    if speed.targets:
        target = speed.targets[0]
        limits = f"passes at {target.passing:.2f}, full marks at {target.full:.2f}"
        points = "" if target.earned > 0 else ", no points"
        overall = f"; {target.name}: {target.value:.2f} x, {target.decision}{points}, {limits}"
    return [
        f"Baseline performance: {numbers.microseconds(case.baseline_seconds)} "
        f"({how}{numbers.terabytes(baseline_rate)} at {case.name})",
        f"Optimized performance: {numbers.microseconds(case.seconds)} "
        f"({how}{numbers.terabytes(case.bandwidth)} at {case.name})",
        f"Speedup: {numbers.ratio(case.ratio)} ({how}at {case.name}{overall})",
    ]


def _headline(exercise: Exercise, speed: Speed | None) -> SpeedCase | None:
    if speed is None or not speed.cases:
        return None
    named = {name for target in exercise.targets if isinstance(target, Speedup) for name in target.cases}
    return max(
        (case for case in speed.over_baseline if not named or case.name in named),
        key=lambda c: c.bytes,
        default=None,
    )


def is_correct(record: Record) -> bool:
    return bool(record.cases) and all(case.passed for case in record.deciding_cases)


def _remember(exercise: Exercise, record: Record) -> None:
    """For `./course list`."""
    when = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    told = {"verdict": record.verdict, "points": record.points, "max_points": record.max_points}
    student.write_state(exercise, "check", {**told, "device": record.device.kind, "when": when})
