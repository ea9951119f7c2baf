"""The pages of a class: an index, and one page per submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.classes.run_log import Run
from grader.records.record import Record
from grader.render.pages.html import submission_page
from grader.render.pages.markup import page, table, tag
from grader.render.pages.run_page import write_run_page
from grader.render.pages.statistics_page import NAME as STATISTICS
from grader.render.pages.statistics_page import write_statistics
from grader.render.public import for_student
from grader.render.terminal import speed_words
from grader.spec.names import file_name
from grader.words import numbers


def write_pages(records: Sequence[Record], folder: Path, remark: str = "", runs: Sequence[Run] = ()) -> Path:
    """Write all pages below `folder` and return the index."""
    rows = []
    for record in map(for_student, records):
        exercise = file_name(record.exercise or "unknown")
        name = f"{file_name(record.submission)}.html"
        (folder / exercise).mkdir(parents=True, exist_ok=True)
        (folder / exercise / name).write_text(submission_page(record, remark), encoding="utf-8")
        rows.append(
            (
                tag("a", record.submission, href=f"{exercise}/{name}"),
                record.exercise or "unknown",
                numbers.points(record.points),
                numbers.points(record.max_points),
                record.verdict,
                speed_words(record.speed),
                "; ".join(record.flags),
            )
        )
    index = folder / "index.html"
    columns = ("submission", "exercise", ">points", ">of", "verdict", "speed", "to look at")
    head = (tag("h1", "Grades"), tag("p", numbers.counted(len(records), "submission")))
    note = tag("p", remark, class_="doubt") if remark else None
    about = None
    if runs:
        about = tag("p", tag("a", "How the grading went", href=write_run_page(runs, folder).name))
    spread = write_statistics(records, folder / STATISTICS)
    figures = tag("p", tag("a", "Points of each part, and frequent mistakes", href=spread.name))
    index.write_text(page("Grades", *head, note, about, figures, table(columns, rows)), encoding="utf-8")
    return index
