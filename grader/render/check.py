"""The check of a student's own file, as text: what to fix first, or how good it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from grader.course.starters import Todo
from grader.pipeline.events import BuildDone, CaseDone, Event
from grader.records.record import Record, Speed, SpeedCase
from grader.render import terminal
from grader.render.findings import findings_text
from grader.spec import Exercise, Speedup
from grader.words import numbers


def report(
    exercise: Exercise,
    record: Record,
    todos: Sequence[Todo],
    remark: str = "",
    *,
    file: str = "kernel.cu",
    shown: Collection[type[Event]] = (),
) -> str:
    """What to fix first, or how good it is; the last lines are correctness and performance. What was `shown`
    already is not repeated."""
    first = () if BuildDone in shown else (terminal.diagnostics(record.diagnostics),)
    failed = () if CaseDone in shown else (terminal.failures(record),)
    sections: tuple[str, ...]
    steps = [step.name for step in exercise.steps]
    if not record.is_correct:
        open_tasks = f"TODO comments still in the file:\n{todo_lines(file, todos)}\n" if todos else ""
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
    """Baseline, kernel and their ratio at the largest shape of the target; the last line is the target that
    decides, the first that is not met. Modelled times are labelled."""
    case = _headline(exercise, speed)
    if speed is None or case is None:
        return ["Performance: not measured"]
    timed = terminal.how_timed([case.protocol])
    how = f"{'modelled, ' if speed.modelled else ''}{timed}; "
    base_how = f"measured on {case.baseline_measured_on}, {timed}; " if case.baseline_measured_on else how
    baseline_rate = case.bytes / case.baseline_seconds if case.baseline_seconds > 0 else 0.0
    lines = [
        f"Baseline performance: {numbers.microseconds(case.baseline_seconds)} "
        f"({base_how}{numbers.terabytes(baseline_rate)} at {case.name})",
        f"Optimized performance: {numbers.microseconds(case.seconds)} "
        f"({how}{numbers.terabytes(case.bandwidth)}, {numbers.ratio(case.ratio)} at {case.name} alone)",
    ]
    if not speed.targets:
        return [*lines, f"Speedup: {numbers.ratio(case.ratio)} ({how}at {case.name})"]
    return [*lines, _target_line(speed)]


def _target_line(speed: Speed) -> str:
    """The target that decides: the first that does not earn all its points, else the first."""
    target = next((one for one in speed.targets if one.earned < 1), speed.targets[0])
    others = [one for one in speed.targets if one is not target]
    short = sum(one.earned < 1 for one in others)
    state = f"{short} of them short of full marks" if short else "with full marks"
    more = f"; {numbers.counted(len(others), 'other target')}, {state}" if others else ""
    points = "" if target.earned > 0 else ", no points"
    if not target.name.startswith("speedup"):
        return f"Target: {target.name}: {target.decision}{points}, {target.message}{more}"
    how = "modelled, " if speed.modelled else ""
    return (
        f"Speedup: {numbers.ratio(target.value)} ({how}{target.name}: {target.decision}{points}, passes at "
        f"{target.passing:.2f}, full marks at {target.full:.2f}{more})"
    )


def _headline(exercise: Exercise, speed: Speed | None) -> SpeedCase | None:
    if speed is None or not speed.cases:
        return None
    named = {name for target in exercise.targets if isinstance(target, Speedup) for name in target.cases}
    return max(
        (case for case in speed.over_baseline if not named or case.name in named),
        key=lambda c: c.bytes,
        default=None,
    )


def todo_lines(place: str, todos: Sequence[Todo]) -> str:
    return "\n".join(f"  {place}:{todo.line}  {todo.text}" for todo in todos)
