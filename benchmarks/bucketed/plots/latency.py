"""Times on a GPU: against error and memory, by bucket, and against what the bytes allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.bucketed.plots.budget_looks import BUDGET_LOOKS
from benchmarks.output import looks

Way = Mapping[str, Any]
Shape = Mapping[str, Any]
_CONTEXT_COLOURS = (looks.SKY, looks.GREEN, looks.ORANGE, looks.RED)
KINDS = {
    "mix": ("a budget, the bench's mix", looks.BLUE, "o"),
    "planned": ("a budget, as planned", looks.SKY, "v"),
    "fp16 scales": ("a budget, fp16 scales", looks.GREEN, "^"),
    "mix with weights": ("a budget, with weights for importance", looks.PURPLE, "P"),
    "single": ("a single width", looks.ORANGE, "D"),
    "int8": ("INT8, the solution", looks.RED, "s"),
    "baseline": ("INT8, baseline.cu", "black", "x"),
    "torch": ("FP16, torch", looks.GREY, "*"),
}
_BAR = 0.2


def of_kind(shape: Shape, kind: str) -> list[Way]:
    return [way for way in shape["ways"] if way["kind"] == kind]


def best_torch(shape: Shape) -> Way | None:
    return min(of_kind(shape, "torch"), key=lambda way: way["microseconds"], default=None)


def error_figure(result: Mapping[str, Any]) -> Any:
    """Latency and memory against error, a line for each context and a mark for each budget."""
    from matplotlib import pyplot

    batches = sorted({shape["batch"] for shape in result["shapes"]})
    made, rows = pyplot.subplots(
        len(batches), 2, figsize=(13, 4.6 * len(batches)), layout="constrained", squeeze=False
    )
    measures = (("microseconds", 1.0, "µs, cold L2"), ("bytes", 1e-6, "MB of cache"))
    for panels, batch in zip(rows, batches, strict=True):
        shapes = [shape for shape in result["shapes"] if shape["batch"] == batch]
        for panel, (key, unit, label) in zip(panels, measures, strict=True):
            for shape, colour in zip(shapes, _CONTEXT_COLOURS, strict=False):
                _draw_trade(panel, shape, key, unit, colour)
            panel.set(
                xscale="log",
                yscale="log",
                xlabel="median error of attention against FP16",
                ylabel=label,
                title=f"Batch {batch}: {'time' if key == 'microseconds' else 'memory'} against error",
            )
            looks.per_cent_ticks(panel.xaxis)
            looks.plain_ticks(panel.yaxis)
            panel.tick_params(axis="x", labelrotation=30)
            panel.grid(alpha=0.3)
    rows[0][0].legend(fontsize=8, title="context")
    made.suptitle(
        f"Widths by importance, skewed data: marks are budgets "
        f"{', '.join(f'{budget:.2f}' for budget in BUDGET_LOOKS)} (○□△◇ in this order), × INT8, "
        f"★ torch's best over FP16 ({looks.where(result)})",
        fontsize=11,
    )
    return made


def _draw_trade(panel: Any, shape: Shape, key: str, unit: float, colour: str) -> None:
    mixes = of_kind(shape, "mix")
    panel.plot(
        [100 * way["error_median"] for way in mixes],
        [way[key] * unit for way in mixes],
        color=colour,
        label=f"{shape['context']:,}",
    )
    marked = [(way, BUDGET_LOOKS[way["budget_asked"]][1]) for way in mixes]
    marked += [(way, "x") for way in of_kind(shape, "int8")]
    if (fastest := best_torch(shape)) is not None:
        marked.append((fastest, "*"))
    for way, mark in marked:
        panel.plot(
            100 * way["error_median"], way[key] * unit, color=colour, marker=mark, markersize=7, linestyle=""
        )


def bucket_figure(result: Mapping[str, Any]) -> Any:
    """Left: single widths against INT8, and what their bytes allow. Right: a mix's buckets one by one and in
    one launch, at the largest batch."""
    from matplotlib import pyplot

    most = max(shape["batch"] for shape in result["shapes"])
    shapes = [shape for shape in result["shapes"] if shape["batch"] == most]
    made, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), layout="constrained")
    labels = [f"{shape['context']:,}" for shape in shapes]
    for number, bits in enumerate((2, 3, 4)):
        ways = [next(way for way in of_kind(shape, "single") if way["bits"] == bits) for shape in shapes]
        places = [row + (number - 1) * (_BAR + 0.05) for row in range(len(shapes))]
        colour = _CONTEXT_COLOURS[number]
        bars = [way["ratio"] for way in ways]
        left.bar(places, bars, _BAR, yerr=_whiskers(ways), capsize=3, color=colour, label=f"{bits} bits")
        bounds = [way["bound_over_int8"] for way in ways]
        left.plot(
            places, bounds, linestyle="", marker="_", markersize=16, color="black",
            label="what the bytes allow" if number == 0 else None,
        )  # fmt: skip
    left.axhline(1, color=looks.GREY, linewidth=0.8)
    left.set(title="All tokens at one width", ylabel="times as fast as baseline.cu over INT8")
    _draw_parts(right, shapes)
    for panel in (left, right):
        panel.set_xticks(range(len(shapes)), labels)
        panel.set_xlabel(f"context, batch {most}")
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
        panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    made.suptitle(f"Time per bucket ({looks.where(result)}, medians, cold L2)")
    return made


def _draw_parts(panel: Any, shapes: Sequence[Shape]) -> None:
    tops = [0.0] * len(shapes)
    colours = {2: looks.SKY, 3: looks.GREEN, 4: looks.ORANGE, 8: looks.RED}
    budget = of_kind(shapes[0], "bucket")[0]["budget_asked"]
    whole = [
        next(way["microseconds"] for way in of_kind(shape, "mix") if way["budget_asked"] == budget)
        for shape in shapes
    ]
    for bits, colour in colours.items():
        heights = [
            sum(way["microseconds"] / all_of_them for way in of_kind(shape, "bucket") if way["bits"] == bits)
            for shape, all_of_them in zip(shapes, whole, strict=True)
        ]
        places = [row - 0.19 for row in range(len(shapes))]
        panel.bar(places, heights, 0.34, bottom=tops, color=colour, label=f"the {bits}-bit bucket alone")
        tops = [top + height for top, height in zip(tops, heights, strict=True)]
    places = [row + 0.19 for row in range(len(shapes))]
    panel.bar(places, [1.0] * len(shapes), 0.34, color=looks.BLUE, label="all buckets in one launch")
    for place, microseconds in zip(places, whole, strict=True):
        panel.annotate(f"{microseconds:,.1f} µs", (place, 1.0), ha="center", va="bottom", fontsize=8)
    panel.set(title=f"The buckets of budget {budget:.2f}", ylabel="time over that of one launch for all")


def byte_figure(result: Mapping[str, Any]) -> Any:
    """Time against bytes, and the line of a copy's bandwidth."""
    from matplotlib import pyplot

    batches = sorted({shape["batch"] for shape in result["shapes"]})
    made, panels = pyplot.subplots(
        1, len(batches), figsize=(6.6 * len(batches), 5.4), layout="constrained", squeeze=False
    )
    for panel, batch in zip(panels[0], batches, strict=True):
        shapes = [shape for shape in result["shapes"] if shape["batch"] == batch]
        ways = [way for shape in shapes for way in shape["ways"] if way["kind"] in KINDS]
        for kind, (label, colour, mark) in KINDS.items():
            chosen = [way for way in ways if way["kind"] == kind]
            panel.plot(
                [way["bytes"] / 1e6 for way in chosen],
                [way["microseconds"] for way in chosen],
                linestyle="", marker=mark, color=colour, markersize=6, alpha=0.85, label=label,
            )  # fmt: skip
        ends = [min(way["bytes"] for way in ways), max(way["bytes"] for way in ways)]
        rate = result["copy_bytes_per_second"]
        panel.plot(
            [end / 1e6 for end in ends],
            [1e6 * end / rate for end in ends],
            color="black", linewidth=0.9, label=f"a copy's {rate / 1e12:.2f} TB/s",
        )  # fmt: skip
        panel.set(
            xscale="log", yscale="log", xlabel="MB of cache, read once", ylabel="µs, cold L2",
            title=f"Batch {batch}",
        )  # fmt: skip
        looks.plain_ticks(panel.xaxis)
        looks.plain_ticks(panel.yaxis)
        panel.grid(alpha=0.3)
    made.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    contexts = ", ".join(f"{shape['context']:,}" for shape in shapes)
    made.suptitle(
        f"Bytes and time: contexts {contexts}, {result['heads']} heads of {result['head_dim']} "
        f"({looks.where(result)})"
    )
    return made


def _whiskers(ways: Sequence[Way]) -> list[list[float]]:
    return [
        [way["ratio"] - way["ratio_low"] for way in ways],
        [way["ratio_high"] - way["ratio"] for way in ways],
    ]
