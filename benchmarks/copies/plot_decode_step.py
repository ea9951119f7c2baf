"""Draws what the fused copy saves in a decoding step, from benchmarks/data/copies/decode_step_h200.json.

    python -m benchmarks.copies.plot_decode_step

Left: the latency of a step with and without it. Right: the share of the step that it saves, when steps
run one at a time and when they follow each other. Writes plots/decode_step_h200.png beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import DATA

FOLDER = DATA / "copies"
MEASURED = FOLDER / "decode_step_h200.json"
PLOT = FOLDER / "plots" / "decode_step_h200.png"

# Colours that colour-blind readers can tell apart; markers and hatches repeat the distinction.
WAYS = (("one by one", "six copies", "#C04F00", "s"), ("fused", "one launch", "#0072B2", "o"))
MEASURES = (
    ("step latency", "one at a time: until the GPU is done", "#56B4E9", ""),
    ("step in a row", "in a row: a hundred steps without a wait", "#E69F00", "//"),
)
_BAR = 0.38
_MIDDLE = 500  # µs: text goes on the emptier side


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    measured = json.loads(MEASURED.read_text())
    steps = measured["shapes"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12.5, 5), layout="constrained", sharey=True)
    _draw_latency(left, steps)
    _draw_share(right, steps)
    left.set_yticks(range(len(steps)), [f"{step['batch']} × {step['keys']:,}" for step in steps])
    left.invert_yaxis()  # shared: the smallest on top
    left.set_ylabel("requests × keys of the longest")
    figure.suptitle(f"Copies before a CUDA-graph replay: a decoding step on one {measured['gpu']}")
    figure.supxlabel(
        "medians, with 95 % intervals: on the left in brackets, as they are narrower than the marks",
        fontsize=9,
    )
    figure.savefig(PLOT, dpi=120)
    print(f"written: {PLOT}")


def _draw_latency(panel: Any, steps: Sequence[Mapping[str, Any]]) -> None:
    for row, step in enumerate(steps):
        figures = step["step latency"]
        plain, fused = (figures[way]["microseconds"] for way, *_ in WAYS)
        panel.plot([fused, plain], [row, row], color="grey", linewidth=1.5, zorder=1)
        to_the_right = plain < _MIDDLE
        for (way, _, colour, _), up in zip(WAYS, (1, -1), strict=True):
            figure = figures[way]
            panel.annotate(
                f"{figure['microseconds']:,.1f} ({figure['low']:,.1f}–{figure['high']:,.1f})",
                (plain if to_the_right else fused, row),
                xytext=(10 if to_the_right else -10, 7 * up),
                textcoords="offset points",
                va="center",
                ha="left" if to_the_right else "right",
                fontsize=9,
                color=colour,
            )
    for way, label, colour, marker in WAYS:
        figures = [step["step latency"][way] for step in steps]
        panel.errorbar(
            [figure["microseconds"] for figure in figures],
            range(len(steps)),
            xerr=_whiskers(figures, "microseconds", "low", "high"),
            fmt=marker,
            color=colour,
            markersize=7,
            capsize=3,
            label=label,
            zorder=2,
        )
    panel.set_xscale("log")
    panel.set_xlim(50, 3500)
    ticks = (50, 100, 200, 500, 1000, 2000)
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.minorticks_off()
    panel.grid(axis="x", alpha=0.3)
    panel.set(xlabel="µs (logarithmic)", title="Latency of a step: copies and replay")
    panel.legend(loc="upper right")


def _draw_share(panel: Any, steps: Sequence[Mapping[str, Any]]) -> None:
    for number, (what, label, colour, hatch) in enumerate(MEASURES):
        # A step that is r times as fast is shorter by 1 - 1 / r.
        saved = [
            {name: 100 * (1 - 1 / step[what]["fused"][name]) for name in ("ratio", "ratio_low", "ratio_high")}
            for step in steps
        ]
        places = [row + (number - 0.5) * _BAR for row in range(len(steps))]
        panel.barh(
            places,
            [share["ratio"] for share in saved],
            height=_BAR,
            xerr=_whiskers(saved, "ratio", "ratio_low", "ratio_high"),
            color=colour,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
            capsize=3,
            label=label,
        )
        for place, share in zip(places, saved, strict=True):
            panel.annotate(
                f"{share['ratio']:.1f} %",
                (max(share["ratio_high"], share["ratio"]), place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
    panel.set_xlim(0, 45)
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)
    panel.set(xlabel="% of the step", title="Share of the step that one launch saves")
    panel.legend(loc="lower right")


def _whiskers(figures: Sequence[Mapping[str, float]], value: str, low: str, high: str) -> list[list[float]]:
    return [
        [figure[value] - figure[low] for figure in figures],
        [figure[high] - figure[value] for figure in figures],
    ]


if __name__ == "__main__":
    main()
