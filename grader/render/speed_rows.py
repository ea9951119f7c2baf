"""A record's timed cases as a table, for the terminal and for pages."""

from __future__ import annotations

from grader.records.record import Speed, SpeedCase
from grader.words import numbers


def speed_rows(speed: Speed) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: one row per case."""
    columns = ["bench case", ">baseline", ">submission", ">speedup", ">between", ">effective", "note"]
    return columns, [[*times(case), numbers.bandwidth(case.bandwidth), case.note] for case in speed.cases]


def times(case: SpeedCase) -> list[str]:
    """The case, both times, their ratio and its interval."""
    return [
        case.label,
        numbers.seconds(case.baseline_seconds),
        numbers.seconds(case.seconds),
        numbers.ratio(case.ratio),
        numbers.interval(case.low, case.high),
    ]
