"""The tables of docs/bucketed-cache.md, made from the committed measurements on the H200.

`benchmarks/documents/make_tables.py` writes them between the marks of that page. Times are medians, in
microseconds.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import DATA
from benchmarks.output.markdown import table

Way = Mapping[str, Any]
BUDGETS = ("budget 0.20", "budget 0.25", "budget 0.35", "budget 0.50")
INT8 = "INT8, baseline.cu"
VARIANTS = {
    "": "fp32 scales",
    ", fp16 scales": "fp16 scales",
    ", with weights": "fp32 scales, with every key's weight",
}


def bucketed_budgets(batch: str) -> str:
    """INT8's time, and for each budget the time, the speedup over INT8 and the one that the bytes allow."""
    rows = []
    for context, ways in _shapes(int(batch)).items():
        cells = [f"{_time(ways[name])} ({_times(ways[name])} of {_bound(ways[name])})" for name in BUDGETS]
        rows.append([f"{context:,}", _time(ways[INT8]), *cells])
    return table(["tokens", "INT8, the baseline", *BUDGETS], rows)


def bucketed_widths(batch: str) -> str:
    """All tokens at one width: the share of a copy's bandwidth."""
    rows = []
    for context, ways in _shapes(int(batch)).items():
        rows.append(
            [f"{context:,}", *(_share(ways[name]) for name in ("2 bits", "3 bits", "4 bits", "INT8"))]
        )
    return table(["tokens", "2 bits", "3 bits", "4 bits", "8 bits"], rows)


def bucketed_half(batch: str) -> str:
    """Torch's attention kernels over FP16 beside a budget of 0.25."""
    ours, rows = "budget 0.25", []
    names: list[str] = []
    for context, ways in _shapes(int(batch)).items():
        names = names or [name for name in ways if name.startswith("torch FP16")]
        best = min((ways[name] for name in names), key=lambda way: way["microseconds"])
        ratio = best["microseconds"] / ways[ours]["microseconds"]
        rows.append(
            [f"{context:,}", _time(ways[ours]), *(_time(ways[name]) for name in names), f"{ratio:.2f}×"]
        )
    return table(["tokens", ours, *names, "the best over ours"], rows)


def bucketed_variants(batch: str, context: str) -> str:
    """The effect of other scales and of recording importance."""
    ways = _shapes(int(batch))[int(context)]
    rows = [
        [label, *(f"{_time(way)} ({100 * way['error_median']:.2f} %)" for way in _variants(ways, suffix))]
        for suffix, label in VARIANTS.items()
    ]
    return table(["", *BUDGETS], rows)


def bucketed_profile() -> str:
    """What ncu counted."""
    return f"```text\n{(DATA / 'bucketed' / 'profile_h200.txt').read_text()}```\n"


def _variants(ways: Mapping[str, Way], suffix: str) -> list[Way]:
    return [ways[budget + suffix] for budget in BUDGETS]


@functools.cache
def _shapes(batch: int) -> dict[int, dict[str, Way]]:
    """By context, then by name."""
    shapes = json.loads((DATA / "bucketed" / "latency_h200.json").read_text())["shapes"]
    return {
        shape["context"]: {way["name"]: way for way in shape["ways"]}
        for shape in shapes
        if shape["batch"] == batch
    }


def _time(way: Way) -> str:
    return f"{way['microseconds']:.1f}" if way["microseconds"] < 100 else f"{way['microseconds']:,.0f}"


def _times(way: Way) -> str:
    return f"{way['ratio']:.2f}×"


def _bound(way: Way) -> str:
    return f"{way['bound_over_int8']:.2f}"


def _share(way: Way) -> str:
    return f"{100 * way['share_of_copy_bandwidth']:.0f} %"


MAKERS: dict[str, Callable[..., str]] = {
    "bucketed_budgets": bucketed_budgets,
    "bucketed_widths": bucketed_widths,
    "bucketed_half": bucketed_half,
    "bucketed_variants": bucketed_variants,
    "bucketed_profile": bucketed_profile,
}
