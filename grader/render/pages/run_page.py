"""The page on the runs: time per exercise, the queue, what was lost and tried again, what was slow."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.classes.run_log import Row, Run, slowest
from grader.render.pages.markup import Markup, page, table, tag
from grader.words.numbers import counted, seconds

NAME = "run.html"
_SLOW = 10  # rows in the table of what was slow


def write_run_page(runs: Sequence[Run], folder: Path) -> Path:
    """All runs into one folder of records, the newest first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    parts = [part for run in reversed(runs) if run.rows for part in _run(run)]
    path.write_text(page("Runs", tag("h1", "Runs"), *parts), encoding="utf-8")
    return path


def _run(run: Run) -> Iterator[Markup]:
    rows = run.rows
    machines = sorted({row.machine for row in rows if row.machine})
    graded = f"{len(rows):,} of {counted(run.tasks, 'submission')} graded"
    yield tag("h2", run.began)
    yield tag("p", f"{graded} on {counted(len(machines), 'machine')} ({', '.join(machines)}).")
    if len(rows) < run.tasks:
        yield tag("p", "The run was stopped; the same command goes on.", class_="doubt")
    yield tag("h3", "Time per exercise")
    columns = ("exercise", ">submissions", ">median", ">longest", ">together", ">in the queue, median")
    yield table(columns, map(_exercise, _by(rows, "exercise")))
    yield tag("h3", "Machines")
    yield table(("machine", ">submissions", ">together"), map(_machine, _by(rows, "machine")))
    if lost := [row for row in rows if row.lost]:
        yield tag("h3", "Tried again")
        cells = [
            (row.student, row.exercise, str(len(row.lost)), "; ".join(row.lost), row.verdict) for row in lost
        ]
        yield table(("submission", "exercise", ">lost", "why", "verdict"), cells)
    yield tag("h3", "Slowest")
    cells = [
        (row.student, row.exercise, seconds(row.seconds), row.machine, row.verdict)
        for row in slowest(rows, _SLOW)
    ]
    yield table(("submission", "exercise", ">time", "machine", "verdict"), cells)


def _by(rows: Sequence[Row], name: str) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, name), []).append(row)
    return sorted(groups.items())


def _exercise(group: tuple[str, list[Row]]) -> tuple[str, ...]:
    name, rows = group
    times = [row.seconds for row in rows]
    waited = statistics.median(row.waited for row in rows)
    figures = (statistics.median(times), max(times), sum(times), waited)
    return (name, f"{len(rows):,}", *map(seconds, figures))


def _machine(group: tuple[str, list[Row]]) -> tuple[str, ...]:
    name, rows = group
    return name or "none", f"{len(rows):,}", seconds(sum(row.seconds for row in rows))
