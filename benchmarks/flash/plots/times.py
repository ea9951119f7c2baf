"""Time over length, one panel per size of heads with and without a mask."""

from __future__ import annotations

from typing import Any

from benchmarks.flash.plots.looks import levels_of, look, time_whiskers
from benchmarks.flash.results import Found, names_of, shapes_of, way_of
from benchmarks.flash.shapes import FEW_HEADS, HEAD_DIMS
from benchmarks.output import looks


def figure(result: Found) -> Any:
    from matplotlib import pyplot

    batch, heads = FEW_HEADS
    made, panels = pyplot.subplots(2, 2, figsize=(13, 10), layout="constrained", sharex=True)
    for row, head_dim in zip(panels, HEAD_DIMS, strict=True):
        for panel, causal in zip(row, (False, True), strict=True):
            shapes = shapes_of(result, batch=batch, heads=heads, head_dim=head_dim, causal=causal)
            _draw(panel, shapes)
            panel.set(
                xscale="log",
                yscale="log",
                title=f"heads of {head_dim}, {'causal' if causal else 'not causal'}",
                ylabel="µs per call",
                xlabel="rows of a head",
            )
            lengths = [shape["length"] for shape in shapes]
            panel.set_xticks(lengths, [f"{length:,}" for length in lengths])
            panel.minorticks_off()
            looks.plain_ticks(panel.yaxis)
            panel.tick_params(axis="x", labelbottom=True)
            panel.grid(alpha=0.3)
    made.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    made.suptitle(
        f"Attention forward, fp16, {batch} × {heads} heads: medians with 95 % intervals, inside CUDA graphs "
        f"({looks.where(result)})"
    )
    return made


def _draw(panel: Any, shapes: list[Found]) -> None:
    for name in names_of(shapes):
        there = [(shape["length"], way) for shape in shapes if (way := way_of(shape, name))]
        ways = [way for _, way in there]
        panel.errorbar(
            [length for length, _ in there],
            [way["microseconds"] for way in ways],
            yerr=time_whiskers(ways),
            capsize=2,
            label=name,
            **look(ways[0], levels_of(shapes)),
        )
