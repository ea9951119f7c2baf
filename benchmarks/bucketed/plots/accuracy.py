"""Error against memory, where all tokens matter equally and where a few matter most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.bucketed.accuracy import (
    BENCH_IMPORTANCE,
    BENCH_SHUFFLED,
    EQUAL,
    IMPORTANCE,
    IMPORTANCE_SHUFFLED,
    INT8,
)
from benchmarks.output import looks

LOOKS = {
    BENCH_SHUFFLED: (looks.RED, "s", "-"),
    IMPORTANCE_SHUFFLED: (looks.ORANGE, "v", "-"),
    EQUAL: (looks.GREY, "D", "-"),
    BENCH_IMPORTANCE: (looks.SKY, "^", "--"),
    IMPORTANCE: (looks.BLUE, "o", "-"),
}
TITLES = {
    "normal": "Random normal data: all tokens alike",
    "skewed": "Skewed data: sinks, a topic, recent tokens",
}
_SHIFT = 0.0022  # of neighbours' bars


def figure(result: Mapping[str, Any]) -> Any:
    from matplotlib import pyplot

    made, panels = pyplot.subplots(1, 2, figsize=(13, 5.6), layout="constrained", sharey=True)
    for panel, (name, world) in zip(panels, result["worlds"].items(), strict=True):
        _draw(panel, world["points"])
        heaviest = 100 * world["weight_of_the_heaviest_twentieth"]
        panel.set_title(f"{TITLES[name]}\nthe heaviest 5 % of tokens have {heaviest:.0f} % of the weight")
        panel.set_xlabel("payload and scales, as a fraction of FP16")
    panels[0].set_ylabel("error of attention against the FP16 cache, by norm")
    looks.per_cent_ticks(panels[0].yaxis)
    # The skewed panel has every allocation.
    made.legend(*panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    sizes = result["sizes"]
    made.suptitle(
        f"What a budget costs: {sizes['context']:,} tokens, heads of {sizes['head_dim']} "
        f"(medians of {world['rows']} rows; bars end where 95 % of rows are below; {looks.where(result)})",
        fontsize=11,
    )
    return made


def _draw(panel: Any, points: list[Mapping[str, Any]]) -> None:
    for number, (name, (colour, mark, line)) in enumerate(LOOKS.items()):
        chosen = [point for point in points if point["allocation"] == name]
        if not chosen:
            continue
        middle = [100 * point["error_median"] for point in chosen]
        up = [100 * (point["error_95"] - point["error_median"]) for point in chosen]
        panel.errorbar(
            [point["budget"] + (number - 2) * _SHIFT for point in chosen],
            middle,
            yerr=[[0.0] * len(up), up],
            color=colour,
            marker=mark,
            linestyle=line,
            elinewidth=0.8,
            capsize=2,
            label=name,
        )
    for point in points:
        if point["allocation"] == INT8:
            place = (point["budget"], 100 * point["error_median"])
            panel.plot(*place, marker="*", markersize=13, color="black", linestyle="", label=INT8)
    panel.set_yscale("log")
    panel.grid(alpha=0.3)
