"""TFLOP/s over arithmetic intensity, under the roofs of memory and of the tensor cores."""

from __future__ import annotations

from typing import Any

from benchmarks.flash.plots.looks import levels_of, look
from benchmarks.flash.plots.roofs import Roofs, roofs
from benchmarks.flash.results import Found, names_of, shapes_of, way_of
from benchmarks.flash.shapes import FEW_HEADS, HEAD_DIMS, MAIN_LENGTH, MANY_HEADS
from benchmarks.output import looks


def figure(result: Found) -> Any:
    """Lines join lengths of few heads; marks alone are many heads of the same length."""
    from matplotlib import pyplot

    batch, heads = FEW_HEADS
    roof = roofs(result)
    made, panels = pyplot.subplots(1, 2, figsize=(14, 7), layout="constrained", sharey=True)
    for panel, head_dim in zip(panels, HEAD_DIMS, strict=True):
        about = {"head_dim": head_dim, "causal": False}
        few = shapes_of(result, batch=batch, heads=heads, **about)
        many_batch, many_heads = MANY_HEADS[-1]
        many = shapes_of(result, batch=many_batch, heads=many_heads, length=MAIN_LENGTH, **about)
        _draw_roofs(panel, roof, [shape["intensity"] for shape in few])
        _draw_ways(panel, few, many)
        panel.set(
            xscale="log",
            yscale="log",
            title=f"heads of {head_dim}, not causal: lengths "
            + ", ".join(f"{shape['length']:,}" for shape in few),
            xlabel="flop for each byte of queries, keys, values and output",
            ylabel="TFLOP/s",
        )
        looks.plain_ticks(panel.xaxis)
        looks.plain_ticks(panel.yaxis)
        panel.tick_params(labelleft=True)
        panel.grid(alpha=0.3)
    made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    made.suptitle(
        f"Roofline: lines {batch} × {heads} heads over length, hollow marks "
        f"{many_batch * many_heads} heads of {MAIN_LENGTH} rows ({looks.where(result)})"
    )
    return made


def _draw_roofs(panel: Any, roof: Roofs, intensities: list[float]) -> None:
    ridge = roof.dense / roof.bandwidth
    ends = [min([*intensities, ridge]) / 4, ridge, 2 * max([*intensities, ridge])]
    panel.plot(
        ends,
        [roof.allowed(end) / 1e12 for end in ends],
        color="black",
        label=f"a copy's {roof.bandwidth / 1e12:.2f} TB/s, then the {roof.dense_label}",
    )
    panel.axhline(roof.mma / 1e12, color="black", linewidth=1, linestyle=":", label=roof.mma_label)


def _draw_ways(panel: Any, few: list[Found], many: list[Found]) -> None:
    for name in names_of(few):
        there = [(shape, way) for shape in few if (way := way_of(shape, name))]
        style = look(there[0][1], levels_of(few))
        panel.plot(*_points(there), label=name, **style)
        apart = [(shape, way) for shape in many if (way := way_of(shape, name))]
        panel.plot(*_points(apart), **{**style, "linestyle": "", "markerfacecolor": "none", "markersize": 10})


def _points(there: list[tuple[Found, Found]]) -> tuple[list[float], list[float]]:
    return [shape["intensity"] for shape, _ in there], [way["tflops"] for _, way in there]
