"""A long run: error, memory, moves and the error that moves add, step by step; on a GPU, time too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.bucketed.plots.budget_looks import BUDGET_LOOKS
from benchmarks.output import looks

ERRORS = (
    ("error_median", "the cache", looks.BLUE, "-", 1.8),
    (
        "error_once_at_lowest",
        "tokens quantised once, at the lowest width they ever had",
        looks.RED,
        "--",
        1.2,
    ),
    ("error_once_at_width", "tokens quantised once, at the width they have now", looks.GREY, ":", 1.2),
)
_WIDTH_COLOURS = {"2": looks.RED, "3": looks.ORANGE, "4": looks.GREEN, "8": looks.BLUE}


def figure(result: Mapping[str, Any]) -> Any:
    from matplotlib import pyplot

    runs = result["runs"]
    timed = "microseconds" in runs[0]["checkpoints"][0]
    columns = max(4, len(runs))
    made = pyplot.figure(figsize=(4 * columns, 8.6), layout="constrained")
    grid = made.add_gridspec(2, columns)
    first = None
    for number, run in enumerate(runs):
        panel = first = made.add_subplot(grid[0, number], sharey=first)
        _draw_errors(panel, run)
    if first is not None:
        made.axes[0].set_ylabel("error of attention against FP16 (median)")
        made.legend(
            *first.get_legend_handles_labels(), loc="outside lower center", ncols=3, title="upper row"
        )
    lower = [made.add_subplot(grid[1, number]) for number in range(4)]
    _draw_lines(lower[0], runs, lambda point: point["budget"])
    for run in runs:
        lower[0].axhline(run["budget"], color=looks.GREY, linewidth=0.6, linestyle=":")
    points = [point for run in runs for point in run["checkpoints"]]
    equal = sum(point["bytes"] == point["bytes_by_theory"] for point in points)
    lower[0].set(
        title=f"Memory: theory's bytes at {equal} of {len(points)} checks", ylabel="fraction of FP16"
    )
    lower[0].legend(fontsize=8, title="budget", loc="center right", bbox_to_anchor=(1.0, 0.74))
    every = result["sizes"]["check_every"]
    _draw_lines(lower[1], runs, lambda point: point["moved"] / every, skip=1)
    lower[1].set(title="Tokens that change their width", ylabel="moves per step", ylim=(0, None))
    _draw_added(lower[2], runs[0])
    (_draw_latency if timed else _draw_capacity)(lower[3], runs)
    for panel in made.axes:
        panel.grid(alpha=0.3)
        if not panel.get_xlabel():
            panel.set_xlabel("decoding steps")
    sizes = result["sizes"]
    made.suptitle(
        f"Decoding through a cache of {sizes['batch']} × {sizes['window']:,} tokens while importance shifts "
        f"({looks.where(result)}; computed by {result['computed_by']})"
    )
    return made


def _draw_errors(panel: Any, run: Mapping[str, Any]) -> None:
    points = run["checkpoints"]
    for key, label, colour, line, width in ERRORS:
        panel.plot(
            [point["step"] for point in points],
            [100 * point[key] for point in points],
            color=colour,
            linestyle=line,
            linewidth=width,
            label=label,
        )
    panel.set_yscale("log")
    looks.per_cent_ticks(panel.yaxis)
    panel.set_title(f"Budget {run['budget']:.2f}")


def _draw_lines(
    panel: Any, runs: Sequence[Mapping[str, Any]], value: Callable[[Mapping[str, Any]], float], skip: int = 0
) -> None:
    for run in runs:
        colour, _ = BUDGET_LOOKS[run["budget"]]
        points = run["checkpoints"][skip:]
        panel.plot(
            [point["step"] for point in points],
            [value(point) for point in points],
            color=colour,
            label=f"{run['budget']:.2f}",
        )


def _draw_added(panel: Any, run: Mapping[str, Any]) -> None:
    for bits, colour in _WIDTH_COLOURS.items():
        points = [point for point in run["checkpoints"] if bits in point["square_error_over_once"]]
        panel.plot(
            [point["step"] for point in points],
            [point["square_error_over_once"][bits] for point in points],
            color=colour,
            label=f"{bits} bits",
        )
    panel.set(
        title=f"What moving adds (budget {run['budget']:.2f})",
        ylabel="square error over that of quantising once",
        ylim=(0.9, 1.6),
    )
    panel.legend(fontsize=8, title="lowest width ever")


def _draw_capacity(panel: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    _draw_lines(panel, runs, lambda point: point["capacity_bytes"] / 1024)
    panel.set(title="Memory allocated, in use or not", ylabel="KiB", ylim=(0, None))


def _draw_latency(panel: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    """Against memory: every checkpoint is a mark."""
    for run in runs:
        colour, mark = BUDGET_LOOKS[run["budget"]]
        for key, filled in (("microseconds", colour), ("microseconds_with_weights", "none")):
            panel.plot(
                [point["bytes"] / 1e6 for point in run["checkpoints"]],
                [point[key] for point in run["checkpoints"]],
                linestyle="",
                marker=mark,
                markersize=4,
                markerfacecolor=filled,
                markeredgecolor=colour,
                label=f"{run['budget']:.2f}" if filled == colour else None,
            )
    panel.set(
        title="Time of attention (hollow: with weights)",
        xlabel="payload and scales, MB",
        ylabel="µs, cold L2",
        ylim=(0, None),
    )
    panel.legend(fontsize=8, title="budget")
