"""`check()` as a notebook shows it: the verdict, then what to fix first, at its line; points at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course.starters import Todo
from grader.notebook.views.display import Display, cut, excerpt, heading, limited
from grader.notebook.views.findings_view import findings_by_cause
from grader.records.record import CaseResult, Record
from grader.render.check import performance_lines, report
from grader.render.findings import decisive, diagnostic_text, findings_of
from grader.render.pages.markup import Child, Markup, joined, table, tag
from grader.render.speed_rows import times
from grader.spec import Exercise
from grader.words import numbers

_MOST_ITEMS = 10
_MOST_CASES = 60
_MOST_WORDS = 1200
_MOST_PRINTED = 4000


class Check(Display):
    """The result of a check. `passed` is whether every case is right; `points` is what it would earn."""

    def __init__(
        self, exercise: Exercise, record: Record, todos: Sequence[Todo], remark: str, file: str
    ) -> None:
        self.record = record
        self.passed = record.is_correct
        self.points = record.points
        text = report(exercise, record, todos, remark, file=file)
        super().__init__(text, *_body(exercise, record, todos, remark, file))


class Untouched(Display):
    """Shows what to do next: an untouched starter has nothing to judge."""

    passed = False
    points = 0.0

    def __init__(self, exercise: Exercise, todos: Sequence[Todo], file: str) -> None:
        self.sentence = f"{file} is still the starter as it was handed out"
        text = "\n".join((f"{self.sentence}.", *(f"  {file}:{todo.line}  {todo.text}" for todo in todos)))
        hint = (
            "Write what they ask for, save, and check again; lab.hints() has hints." if exercise.hints else ""
        )
        super().__init__(
            f"{text}\n{hint}", tag("h3", f"{self.sentence}.", class_="doubt"), _todos(todos), tag("p", hint)
        )


def _body(
    exercise: Exercise, record: Record, todos: Sequence[Todo], remark: str, file: str
) -> Iterable[Child]:
    passed = record.is_correct
    to_fix: tuple[tuple[str, Child], ...] = (
        ("Compiler messages", _diagnostics(record, file)),
        ("The first case that fails", _first_failure(record)),
        ("Findings on your lines", _findings(record)),
    )
    sections: tuple[tuple[str, Child], ...] = (
        *to_fix,
        ("Cases", _cases(record)),
        ("How it works", _mechanisms(record)),
        ("Speed", _speed(exercise, record)),
        ("Points", _points(record)),
        ("Still to do", _todos(todos) if not passed and todos else None),
        ("What it printed", _printed(record)),
    )
    yield tag(
        "h3",
        tag("span", "PASSED" if passed else "FAILED", class_="good" if passed else "bad"),
        f": {cut(record.verdict, 300)} · {numbers.points_of(record.points, record.max_points)} points",
    )
    yield tag("p", f"{file} on {record.device}", class_="faint")
    yield tag("p", remark, class_="doubt") if remark else None
    yield from (part for title, body in sections if body for part in (heading(title), body))


def _diagnostics(record: Record, file: str) -> Markup | None:
    """What the compiler said of what it refused, or the warnings of a kernel that was built."""
    return limited(
        decisive(record.diagnostics),
        lambda item: _diagnostic(item, record.source, file),
        _MOST_ITEMS,
        "of the compiler's messages",
    )


def _diagnostic(item: Mapping[str, Any], source: str, file: str) -> Markup:
    own = item.get("file") and Path(str(item["file"])).name == file
    place = f"line {item['line']}: " if own and item.get("line") else ""
    kind = "bad" if item.get("severity") == "error" else "doubt"
    if not own:
        return tag("pre", cut(diagnostic_text(item), _MOST_WORDS))
    return joined(
        (
            tag(
                "p", tag("span", f"{item.get('severity', '')} ", class_=kind), place, _words(item["message"])
            ),
            excerpt(source, int(item.get("line") or 0)),
            tag("p", f"Hint: {_words(item['hint'])}") if item.get("hint") else None,
        )
    )


def _first_failure(record: Record) -> Markup | None:
    """The others usually fail for the same reason."""
    failed = next((case for case in record.cases if not case.passed), None)
    if failed is None:
        return None
    return joined(
        (
            tag("p", tag("b", failed.label), f" ({failed.sizes_in_words})"),
            tag("pre", _words(failed.message or failed.reason)),
        )
    )


def _findings(record: Record) -> Markup | None:
    return findings_by_cause(findings_of(record), record.source, _MOST_ITEMS)


def _cases(record: Record) -> Markup | None:
    if not record.cases:
        return None
    rows = [_case_row(case) for case in record.cases[:_MOST_CASES]]
    passed = sum(case.passed for case in record.cases)
    listed = table(("case", "result", "why", ">took"), rows)
    left = f"; {len(record.left_out)} more only for a GPU" if record.left_out else ""
    summary = tag("summary", f"{passed} of {numbers.counted(len(record.cases), 'case')} passed{left}")
    return tag("details", summary, listed, **({} if record.is_correct else {"open": ""}))


def _case_row(case: CaseResult) -> tuple[Child, ...]:
    result = tag("span", "passed" if case.passed else "failed", class_="good" if case.passed else "bad")
    why = ": ".join(part for part in (case.reason, case.message) if part) if not case.passed else ""
    return case.label, result, _words(why), numbers.seconds(case.seconds)


def _mechanisms(record: Record) -> Markup | None:
    rows = [
        (
            item.name,
            tag("span", "seen" if item.passed else "missing", class_="good" if item.passed else "bad"),
            _words(item.message),
        )
        for item in record.mechanisms
    ]
    return table(("mechanism", "", "what was seen"), rows) if rows else None


def _speed(exercise: Exercise, record: Record) -> Markup | None:
    speed = record.speed
    if speed is None or not speed.cases:
        return None
    rows = [[*times(case), cut(case.note, 200)] for case in speed.cases[:_MOST_CASES]]
    how = "Modelled by the virtual GPU, not measured." if speed.modelled else "Measured."
    columns = ("case", ">baseline", ">yours", ">speedup", ">between", "note")
    return joined(
        (
            tag("p", how, class_="faint"),
            *(tag("p", line) for line in performance_lines(exercise, speed)),
            table(columns, rows),
        )
    )


def _points(record: Record) -> Markup:
    rows = [
        (part.name, numbers.points(part.points), numbers.points(part.max_points), _words(part.message))
        for part in record.parts
    ]
    rows.append(("total", numbers.points(record.points), numbers.points(record.max_points), ""))
    return table(("part", ">points", ">of", "why"), rows)


def _todos(todos: Sequence[Todo]) -> Markup:
    return tag("ul", *(tag("li", f"line {todo.line}: {cut(todo.text, 200)}") for todo in todos[:_MOST_ITEMS]))


def _printed(record: Record) -> Markup | None:
    return tag("pre", cut(record.output, _MOST_PRINTED)) if record.output.strip() else None


def _words(text: object) -> str:
    return cut(str(text), _MOST_WORDS)
