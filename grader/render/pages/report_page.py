"""One page with the grades of a class and the benchmarks of every device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.records.record import Record, Speed, SpeedCase
from grader.render.bench_rows import bench_rows
from grader.render.pages import plots
from grader.render.pages.markup import Child, Markup, page, table, tag
from grader.render.public import for_student
from grader.render.terminal import speed_words
from grader.words import numbers


def report_page(records: Sequence[Record], benchmarks: Mapping[str, Mapping[str, Any]]) -> str:
    """`benchmarks` are the contents of `bench`'s files by their names."""
    body: list[Child] = [tag("h1", "Serving Kernels: report")]
    if records:
        body += [
            tag("h2", "Grades"),
            _overview(records),
            _grades([for_student(record) for record in records]),
        ]
    for stem, content in benchmarks.items():
        for exercise, entry in content["exercises"].items():
            body += _benchmark(stem, content, exercise, entry)
    return page("Serving Kernels: report", *body)


def _overview(records: Sequence[Record]) -> Markup:
    """By exercise: submissions, those with full marks, the mean, and the number of each problem."""
    rows = []
    for exercise in sorted({record.exercise for record in records}):
        mine = [record for record in records if record.exercise == exercise]
        verdicts = {record.verdict for record in mine}
        counted = sorted((-sum(r.verdict == v for r in mine), v) for v in verdicts)
        full = sum(record.points >= record.max_points > 0 for record in mine)
        mean = sum(record.points for record in mine) / len(mine)
        words = ", ".join(f"{-count} {verdict}" for count, verdict in counted)
        rows.append((exercise or "unknown", str(len(mine)), str(full), numbers.points(mean), words))
    return table(("exercise", ">submissions", ">full marks", ">mean points", "verdicts"), rows)


def _grades(records: Sequence[Record]) -> Markup:
    rows = [
        (
            record.submission,
            record.exercise or "unknown",
            numbers.points_of(record.points, record.max_points),
            record.verdict,
            speed_words(record.speed),
            record.device.kind,
        )
        for record in records
    ]
    return table(("submission", "exercise", ">points", "verdict", "speed", "device"), rows)


def _benchmark(stem: str, content: Mapping[str, Any], exercise: str, entry: Mapping[str, Any]) -> list[Child]:
    modelled = stem.startswith("virtual-")
    device = str(content.get("device", stem))
    about = [f"{'Modelled for' if modelled else 'Measured on'} {device}"]
    about += [f"{key} {entry[key]}" for key in ("driver", "compiler", "date") if entry.get(key)]
    columns, rows = bench_rows(entry)
    speed = _speed_of(entry, modelled=modelled)
    return [
        tag("h2", f"{exercise} on {'the virtual ' if modelled else ''}{device}"),
        tag("p", " · ".join(about), class_="faint"),
        plots.speedups(speed),
        plots.bandwidths(speed),
        table(columns, rows),
    ]


def _speed_of(entry: Mapping[str, Any], *, modelled: bool) -> Speed:
    """The solution against the baseline as in a record, for the same plots."""
    cases = []
    for shape in entry["shapes"]:
        base, mine = shape["results"].get("baseline"), shape["results"].get("solution")
        if base and mine:
            ratio = mine["ratio"]
            cases.append(
                SpeedCase(
                    name=shape["case"],
                    sizes=shape.get("sizes", {}),
                    baseline_seconds=base["seconds"],
                    seconds=mine["seconds"],
                    ratio=ratio,
                    low=mine.get("ratio_low", ratio),
                    high=mine.get("ratio_high", ratio),
                    bytes=shape["bytes"],
                )
            )
    return Speed(modelled=modelled, cases=cases, copy_bandwidth=entry.get("copy_bandwidth") or 0.0)
