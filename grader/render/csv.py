"""A class as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from grader.records.record import Record
from grader.render.public import for_student
from grader.words.text import cell

_HEAD = ("submission", "exercise", "device", "device name", "official", "points", "max points", "verdict")
_TAIL = ("speedup", "modelled", "flags", "seconds")


def write_csv(records: Sequence[Record], path: Path, *, official: bool) -> None:
    """One row per submission. Seeds stay in the records."""
    parts = list(dict.fromkeys(part.name for record in records for part in record.parts))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow((*_HEAD, *(f"{part} points" for part in parts), *_TAIL))
        for record in map(for_student, records):
            writer.writerow(_row(record, parts, official))


def _row(record: Record, parts: Sequence[str], official: bool) -> list[object]:
    earned = {part.name: part.points for part in record.parts}
    target = record.speed.targets[0] if record.speed and record.speed.targets else None
    return [
        cell(record.submission),
        cell(record.exercise),
        record.device.kind,
        cell(record.device.name),
        "yes" if official else "no",
        round(record.points, 4),
        record.max_points,
        cell(record.verdict),
        *(round(earned[part], 4) if part in earned else "" for part in parts),
        round(target.value, 4) if target else "",
        ("yes" if record.speed.modelled else "no") if record.speed else "",
        cell("; ".join(record.flags)),
        round(record.seconds, 2),
    ]
