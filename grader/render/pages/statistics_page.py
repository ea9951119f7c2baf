"""The page on a class's results: how the points of each part are spread, which mistakes are frequent, and how
long gradings took."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.records.record import Record
from grader.render.pages.markup import Markup, page, table, tag
from grader.words.numbers import counted, points, seconds

NAME = "statistics.html"
_BINS = 5  # of a part's points, between none and all
_MOST_MISTAKES = 15
# As grader/answers/compare.py names a mistake.
_LIKELY = re.compile(
    r"It looks like this: (.+)|(Nothing was written)|(Every element that had to be written is zero)"
)


def write_statistics(records: Sequence[Record], path: Path) -> Path:
    """Nobody's name is in it, and no seed."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.exercise or "unknown", []).append(record)
    parts = [part for name in sorted(groups) for part in _exercise(name, groups[name])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page("Statistics", tag("h1", "Statistics"), *parts), encoding="utf-8")
    return path


def _exercise(name: str, records: Sequence[Record]) -> Iterator[Markup]:
    full = sum(record.max_points > 0 and record.points >= record.max_points for record in records)
    totals = [record.points for record in records]
    yield tag("h2", name)
    yield tag(
        "p",
        f"{counted(len(records), 'submission')}, {full} with full marks. Points: median "
        f"{points(statistics.median(totals))}, mean {points(statistics.mean(totals))}, from "
        f"{points(min(totals))} to {points(max(totals))}.",
    )
    yield tag("h3", "Points of each part")
    columns = ("part", ">of", ">median", ">none", *(f">{_bin(number)}" for number in range(_BINS)), ">all")
    yield table(columns, _part_rows(records))
    if rows := _mistakes(records):
        yield tag("h3", "Most frequent mistakes")
        yield table(("mistake", "seen in", ">submissions"), rows)
    times = [record.seconds for record in records if record.seconds > 0]
    if times:
        yield tag("h3", "Time of a grading")
        figures = (statistics.median(times), max(times), sum(times))
        yield table((">median", ">longest", ">together"), [tuple(map(seconds, figures))])


def _bin(number: int) -> str:
    return f"to {100 * (number + 1) // _BINS} %"


def _part_rows(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """A submission without a part, such as one that does not compile, has none of its points."""
    worth = {part.name: part.max_points for record in records for part in record.parts}
    for name, most in worth.items():
        if most <= 0:
            continue
        shares = [_share(record, name) for record in records]
        spread = Counter(_place(share) for share in shares)
        counts = (spread[place] for place in range(-1, _BINS + 1))
        yield name, points(most), points(most * statistics.median(shares)), *(f"{n or ''}" for n in counts)


def _share(record: Record, name: str) -> float:
    part = next((part for part in record.parts if part.name == name), None)
    return part.points / part.max_points if part is not None and part.max_points > 0 else 0.0


def _place(share: float) -> int:
    """-1 for no points, _BINS for all, and the bins between them."""
    if share <= 0:
        return -1
    return _BINS if share >= 1 else min(int(share * _BINS), _BINS - 1)


def _mistakes(records: Sequence[Record]) -> list[tuple[str, str, str]]:
    """Each counts once per submission."""
    found = Counter(mistake for record in records for mistake in set(_mistakes_of(record)))
    return [(what, where, f"{count:,}") for (what, where), count in found.most_common(_MOST_MISTAKES)]


def _mistakes_of(record: Record) -> Iterator[tuple[str, str]]:
    if not record.cases and not record.parts:
        yield record.verdict.partition(":")[0], "the submission"
    if record.diagnostics and not record.cases:
        yield "does not compile", "the compiler"
    for case in record.cases:
        if case.passed:
            continue
        named = _LIKELY.search(case.message)
        if named:
            yield str(named[1] or named[0]).strip().rstrip("."), "answers"
        elif case.reason and case.reason != "mismatch":
            yield case.reason, "calls"
    for finding in record.findings:
        yield str(finding.get("kind", "finding")), "findings"
    for mechanism in record.mechanisms:
        if not mechanism.passed:
            yield f"without: {mechanism.name}", "mechanisms"
