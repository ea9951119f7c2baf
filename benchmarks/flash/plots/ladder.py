"""The speedup of each level over V2 at the exercise's target."""

from __future__ import annotations

from typing import Any

from benchmarks.flash.plots.looks import levels_of, look, whiskers
from benchmarks.flash.results import Found, shapes_of
from benchmarks.flash.shapes import FEW_HEADS, MAIN_LENGTH
from benchmarks.output import looks


def figure(result: Found) -> Any:
    from matplotlib import pyplot

    batch, heads = FEW_HEADS
    about = {"batch": batch, "heads": heads, "length": MAIN_LENGTH, "head_dim": 64}
    made, panels = pyplot.subplots(1, 2, figsize=(15, 6), layout="constrained")
    for panel, causal in zip(panels, (False, True), strict=True):
        for shape in shapes_of(result, **about, causal=causal):  # one, or none where a run was interrupted
            _draw(panel, shape)
        panel.set(title="causal" if causal else "not causal", xlabel="times as fast as V2")
        panel.invert_yaxis()  # the first kernel on top
    made.suptitle(
        f"{batch} × {heads} heads of 64, {MAIN_LENGTH} rows, fp16: medians with 95 % intervals "
        f"({looks.where(result)})"
    )
    return made


def _draw(panel: Any, shape: Found) -> None:
    ways = shape["ways"]
    places = range(len(ways))
    panel.barh(
        places,
        [way["ratio"] for way in ways],
        xerr=whiskers(*([way[key] for way in ways] for key in ("ratio", "ratio_low", "ratio_high"))),
        capsize=3,
        color=[look(way, levels_of([shape]))["color"] for way in ways],
        hatch=["//" if way["kind"] == "torch" else "" for way in ways],
        edgecolor="white",
        error_kw={"ecolor": "black", "elinewidth": 1},
    )
    for place, way in zip(places, ways, strict=True):
        text = f"  {way['ratio']:.2f}×, {way['microseconds']:,.1f} µs"
        panel.annotate(text, (way["ratio_high"], place), va="center", fontsize=9)
    panel.set_yticks(places, [way["name"] for way in ways])
    panel.axvline(1, color=looks.GREY, linewidth=0.8)
    panel.set_xlim(0, 1.3 * max(way["ratio_high"] for way in ways))
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)
