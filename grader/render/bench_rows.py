"""An exercise's entry in a benchmark file as a table, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.words import numbers


def bench_rows(entry: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: one row per shape, one column per kernel, with time and ratio over the baseline."""
    kernels = list(dict.fromkeys(name for shape in entry["shapes"] for name in shape["results"]))
    rows = [
        [
            shape["case"],
            numbers.size(shape["bytes"]),
            *(_cell(shape["results"].get(name)) for name in kernels),
        ]
        for shape in entry["shapes"]
    ]
    return ["shape", ">bytes", *(f">{name}" for name in kernels)], rows


def _cell(result: Mapping[str, Any] | None) -> str:
    if not result or not result.get("seconds"):
        return "–"
    return f"{numbers.seconds(result['seconds'])} ({numbers.ratio(result.get('ratio', 0.0))})"
