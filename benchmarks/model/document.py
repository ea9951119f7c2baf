"""The tables of docs/cost-model.md, made from the committed predictions and measurements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.model.compare import Summary, pairs, summary

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "cost-model.md"
_MARKED = re.compile(r"(<!-- modelled: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NOT_YET = "Not measured yet: `python -m benchmarks.model measure` on an H200 fills this in.\n"


def remade(page: str) -> str:
    """The page with everything between its marks made anew."""
    predicted, measured = _read("predicted_h200.json"), _read("measured_h200.json")
    return _MARKED.sub(lambda mark: mark[1] + _MAKERS[mark[2]](predicted, measured) + mark[3], page)


def _read(name: str) -> dict[str, Any] | None:
    path = FOLDER / name
    figures: dict[str, Any] | None = json.loads(path.read_text()) if path.is_file() else None
    return figures


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    rule = ["---" if column < left else "--:" for column in range(len(header))]
    return "".join("| " + " | ".join(row) + " |\n" for row in [header, rule, *rows])


def _families(predicted: dict[str, Any] | None, measured: dict[str, Any] | None) -> str:
    if predicted is None or measured is None:
        return _NOT_YET
    found = pairs(predicted, measured)
    names = dict.fromkeys(pair.family for pair in found)
    rows = [_row(name, summary([pair for pair in found if pair.family == name])) for name in names]
    header = ["family", "pairs", "over 10 % apart", "order right", "ratio error: median", "p90", "worst"]
    return _table(header, [*rows, _row("all", summary(found))])


def _row(name: str, total: Summary) -> list[str]:
    counts = [str(total.pairs), str(total.apart), str(total.ordered)]
    errors = [f"{error:.0%}" for error in (total.median_error, total.p90_error, total.worst.error)]
    return [name, *counts, *errors]


def _cases(predicted: dict[str, Any] | None, measured: dict[str, Any] | None) -> str:
    if predicted is None:
        return "Not predicted yet: `python -m benchmarks.model predict` fills this in.\n"
    taken = {case["name"]: case["microseconds"] for case in (measured or {"cases": []})["cases"]}
    rows = []
    for case in predicted["cases"]:
        time, real = case["microseconds"], taken.get(case["name"])
        shown = ["not yet", ""] if real is None else [f"{real:.1f}", f"{time / real - 1:+.0%}"]
        rows.append([case["name"], case["limiter"], f"{time:.1f}", *shown])
    return _table(["case", "limited by", "modelled µs", "measured µs", "error"], rows, left=2)


def _source(predicted: dict[str, Any] | None, measured: dict[str, Any] | None) -> str:
    if measured is None:
        return _NOT_YET
    return (
        f"Measured on {measured['gpu']}, driver {measured['driver']}, {measured['repeats']} calls a case.\n"
    )


_MAKERS: dict[str, Callable[[dict[str, Any] | None, dict[str, Any] | None], str]] = {
    "families": _families,
    "cases": _cases,
    "source": _source,
}
