"""Decoding: time over context, and the share of a copy's bandwidth."""

from __future__ import annotations

from typing import Any

from benchmarks.flash.plots.looks import look, time_whiskers
from benchmarks.flash.results import Found, names_of, shapes_of, way_of
from benchmarks.output import looks


def figure(result: Found) -> Any:
    from matplotlib import pyplot

    batches = sorted({shape["batch"] for shape in result["shapes"]})
    made, rows = pyplot.subplots(
        2, len(batches), figsize=(6.5 * len(batches), 9), layout="constrained", sharey="row", squeeze=False
    )
    for (times, shares), batch in zip(zip(*rows, strict=True), batches, strict=True):
        shapes = shapes_of(result, batch=batch)
        for name in names_of(shapes):
            _draw(times, shares, shapes, name)
        rate = result["copy_bytes_per_second"]
        times.plot(
            [shape["context"] for shape in shapes],
            [1e6 * shape["bytes"] / rate for shape in shapes],
            color="black", linewidth=1, linestyle=":", label=f"its bytes at a copy's {rate / 1e12:.2f} TB/s",
        )  # fmt: skip
        times.set(yscale="log", ylabel="µs, cold L2", title=f"batch {batch}")
        looks.plain_ticks(times.yaxis)
        shares.set(ylabel="% of a copy's bandwidth", ylim=(0, 115))
        shares.axhline(100, color=looks.GREY, linewidth=0.8)
        for panel in (times, shares):
            contexts = [shape["context"] for shape in shapes]
            panel.set(xscale="log", xlabel="keys of a head")
            panel.set_xticks(contexts, [f"{context // 1024}k" for context in contexts])
            panel.minorticks_off()
            panel.tick_params(labelleft=True)
            panel.grid(alpha=0.3)
    made.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    shape = result["shapes"][0]
    made.suptitle(
        f"One query row, {shape['heads']} heads of {shape['head_dim']}, fp16: medians with 95 % intervals "
        f"({looks.where(result)})"
    )
    return made


def _draw(times: Any, shares: Any, shapes: list[Found], name: str) -> None:
    there = [(shape["context"], way) for shape in shapes if (way := way_of(shape, name))]
    ways = [way for _, way in there]
    contexts = [context for context, _ in there]
    style = look(ways[0], [])
    if ways[0]["kind"] == "decode":
        style |= {"color": looks.BLUE, "marker": "o", "linewidth": 1.8}
    times.errorbar(
        contexts,
        [way["microseconds"] for way in ways],
        yerr=time_whiskers(ways),
        capsize=2,
        label=name,
        **style,
    )
    shares.plot(contexts, [100 * way["share_of_copy_bandwidth"] for way in ways], label=name, **style)
