"""TFLOP/s over length and over heads, under the peak of the tensor cores."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.flash.plots.looks import levels_of, look, whiskers
from benchmarks.flash.plots.roofs import Roofs, roofs
from benchmarks.flash.results import Found, names_of, shapes_of, way_of
from benchmarks.flash.shapes import FEW_HEADS, MAIN_LENGTH
from benchmarks.output import looks


def figure(result: Found, head_dim: int) -> Any:
    from matplotlib import pyplot

    batch, heads = FEW_HEADS
    made, panels = pyplot.subplots(2, 2, figsize=(13, 10), layout="constrained", sharey=True)
    for row, causal in zip(panels, (False, True), strict=True):
        mask = "causal" if causal else "not causal"
        about = {"head_dim": head_dim, "causal": causal}
        by_length = shapes_of(result, batch=batch, heads=heads, **about)
        by_heads = shapes_of(result, length=MAIN_LENGTH, **about)
        _draw(row[0], by_length, "length", roofs(result))
        _draw(row[1], by_heads, "heads_in_all", roofs(result))
        row[0].set(title=f"{batch} × {heads} heads, {mask}", xlabel="rows of a head", ylabel="TFLOP/s")
        row[1].set(title=f"{MAIN_LENGTH} rows, {mask}", xlabel="heads in all (batch × heads)")
    made.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    made.suptitle(
        f"Arithmetic of both products over time, heads of {head_dim}, fp16 ({looks.where(result)}). "
        "A mask's hidden pairs do not count."
    )
    return made


def _draw(panel: Any, shapes: list[Found], over: str, roof: Roofs) -> None:
    for name in names_of(shapes):
        there = [(shape, way) for shape in shapes if (way := way_of(shape, name))]
        values, lows, highs = (
            [_rate(shape, way[key]) for shape, way in there] for key in ("microseconds", "high", "low")
        )
        panel.errorbar(
            [shape[over] for shape, _ in there],
            values,
            yerr=whiskers(values, lows, highs),
            capsize=2,
            label=name,
            **look(there[0][1], levels_of(shapes)),
        )
    panel.axhline(roof.dense / 1e12, color="black", linewidth=1, label=roof.dense_label)
    panel.axhline(roof.mma / 1e12, color="black", linewidth=1, linestyle=":", label=roof.mma_label)
    places = sorted({shape[over] for shape in shapes})
    panel.set(xscale="log", yscale="log")
    panel.set_xticks(places, [f"{place:,}" for place in places])
    panel.minorticks_off()
    panel.tick_params(labelleft=True)
    looks.plain_ticks(panel.yaxis)
    panel.grid(alpha=0.3)


def _rate(shape: Found, microseconds: float) -> float:
    return float(shape["flops"] / microseconds * 1e-6)


of_64 = functools.partial(figure, head_dim=64)
of_128 = functools.partial(figure, head_dim=128)
