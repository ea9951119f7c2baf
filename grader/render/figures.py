"""Plots as image files, by matplotlib, which is imported only when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.virtual_gpu.report import Report
from grader.render import traffic
from grader.render.findings import counters_by_line
from grader.words import numbers

_SHOWN_LINES = 25


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as problem:
        raise CourseError(
            "a plot needs matplotlib, which is not installed here: pip install matplotlib"
        ) from problem
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def has_matplotlib() -> bool:
    try:
        _pyplot()
    except CourseError:
        return False
    return True


def profile_plot(report: Report, source: Path, path: Path) -> None:
    """Sectors by line on the left, the model's bounds of the longest launch on the right."""
    pyplot = _pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    counts = counters_by_line([line for launch in report.launches for line in launch.lines], source)
    costly = sorted(counts, key=lambda line: -traffic.sectors(counts[line]))[:_SHOWN_LINES]
    shown = sorted(line for line in costly if traffic.sectors(counts[line]))
    left.barh([str(line) for line in shown], [traffic.sectors(counts[line]) for line in shown])
    left.invert_yaxis()
    left.set(xlabel="sectors of 32 bytes", ylabel="line", title=f"global traffic by line of {source.name}")
    if report.launches:
        longest = max(report.launches, key=lambda launch: launch.modelled_seconds)
        terms = {name: seconds * 1e6 for name, seconds in longest.cost.terms.items() if seconds > 0}
        right.barh(list(terms), list(terms.values()))
        right.invert_yaxis()
        right.set(xlabel="µs", title=f"modelled bounds of {numbers.short_kernel(longest.kernel)[:40]}")
    _save(pyplot, figure, path)


def bench_plot(exercise: str, entry: Mapping[str, Any], device: str, path: Path, *, modelled: bool) -> None:
    """Ratio over the baseline and bandwidth, over bytes moved: one line per kernel, one row per sweep."""
    pyplot = _pyplot()
    sweeps = _sweeps(entry["shapes"])
    size = (13, 0.5 + 4.5 * len(sweeps))
    figure, axes = pyplot.subplots(len(sweeps), 2, figsize=size, layout="constrained", squeeze=False)
    how = "modelled" if modelled else "measured"
    for (left, right), (title, shapes) in zip(axes, sweeps.items(), strict=True):
        _draw_sweep(left, right, shapes)
        left.set(ylabel="speedup over the baseline", title=f"{exercise}, {how}: {title}")
        if copy := entry.get("copy_bandwidth"):
            right.axhline(copy / 1e12, color="grey", linestyle="--", linewidth=0.8, label="plain copy")
        right.set(ylabel="effective TB/s", title=device)
    axes[0][1].legend(fontsize="small")
    _save(pyplot, figure, path)


def _draw_sweep(left: Any, right: Any, shapes: Sequence[Mapping[str, Any]]) -> None:
    for name, points in sorted(_series(shapes).items()):
        moved = [point["bytes"] for point in points]
        ratios = [point["ratio"] for point in points]
        errors = [
            [max(point["ratio"] - point.get("ratio_low", point["ratio"]), 0.0) for point in points],
            [max(point.get("ratio_high", point["ratio"]) - point["ratio"], 0.0) for point in points],
        ]
        left.errorbar(moved, ratios, yerr=errors, marker="o", markersize=3, capsize=2, label=name)
        rates = [point["bytes"] / point["seconds"] / 1e12 for point in points]
        right.plot(moved, rates, marker="o", markersize=3, label=name)
    left.axhline(1.0, color="grey", linewidth=0.8)
    for panel in (left, right):
        panel.set(xscale="log", xlabel="bytes moved")


def _sweeps(shapes: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Sweeps of growing shapes, in the exercise's order, by the common ending of their names."""
    runs: list[list[Mapping[str, Any]]] = []
    for shape in shapes:
        if not runs or shape["bytes"] <= runs[-1][-1]["bytes"]:
            runs.append([])
        runs[-1].append(shape)
    titles = [_common_ending([shape["case"] for shape in run]) for run in runs]
    return {title or f"sweep {n}": run for n, (title, run) in enumerate(zip(titles, runs, strict=True), 1)}


def _common_ending(names: Sequence[str]) -> str:
    length = 0
    while length < min(map(len, names)) and len({name[-length - 1] for name in names}) == 1:
        length += 1
    return names[0][len(names[0]) - length :].strip(" ,")


def _series(shapes: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By kernel, the results that have a ratio."""
    series: dict[str, list[dict[str, Any]]] = {}
    for shape in shapes:
        for name, result in shape["results"].items():
            if result.get("seconds", 0) > 0 and "ratio" in result:
                series.setdefault(name, []).append({**result, "bytes": shape["bytes"]})
    return series


def _save(pyplot: Any, figure: Any, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as problem:
        raise CourseError(f"the plot {path} cannot be written: {problem}") from problem
    finally:
        pyplot.close(figure)
