"""The instruction roofline: warp instructions per second over instructions per 32-byte sector.

A copy has no arithmetic, but it has instructions: this roofline can show every kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.virtual_gpu.profiles import find_profile
from common.virtual_gpu.report import SECTOR_BYTES, Launch
from grader.notebook.seen import Seen
from grader.notebook.views.pictures import INK, label_logarithms, new_figure, styled
from grader.words import numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Under the slanted roofs memory is the limit, under the flat one the schedulers; a dot far below all "
    "roofs waits: for memory, with too few warps, or at barriers. Modelled, without launch overhead."
)
_SCHEDULERS = 4
_MOST_DOTS = 12
_DRAM, _L2, _ISSUE = "#3b6fb6", "#9b7bc4", INK


def roofline(seen: Seen) -> Figure:
    profile = find_profile(seen.report.profile)
    roofs = {
        "DRAM": (profile.dram_bytes_per_second / SECTOR_BYTES, _DRAM),
        "L2": (profile.l2_bytes_per_second / SECTOR_BYTES, _L2),
    }
    peak = _SCHEDULERS * profile.sms * profile.clock_ghz * 1e9
    with styled():
        figure = new_figure(7.2, 3.6)
        axes = figure.subplots()
        dots = [dot for launch in seen.launches[:_MOST_DOTS] for dot in _dots(launch)]
        ridges = [peak / rate for rate, _ in roofs.values()]
        low = min([x for x, *_ in dots] + ridges) / 4
        high = max([x for x, *_ in dots] + ridges) * 4
        for name, (rate, colour) in roofs.items():
            xs = [low, peak / rate]
            label = f"{name}, {numbers.bandwidth(rate * SECTOR_BYTES)}"
            axes.plot(xs, [x * rate / 1e9 for x in xs], color=colour, linewidth=1.5, label=label)
        axes.hlines(peak / 1e9, min(ridges), high, color=_ISSUE, linewidth=1.5, label="issue slots")
        _draw_dots(axes, dots)
        axes.set(xscale="log", yscale="log", xlim=(low, high))
        axes.set(xlabel="warp instructions per 32-byte sector", ylabel="10⁹ warp instructions per second")
        axes.set_title(f"{seen.case} on the {profile.name}, modelled")
        for axis in (axes.xaxis, axes.yaxis):
            label_logarithms(axis)
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        axes.grid(alpha=0.25, which="major")
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _dots(launch: Launch) -> list[tuple[float, float, str, str]]:
    """A launch over its sectors of DRAM, and over all its sectors of L2."""
    counts, seconds = launch.counters, launch.cost.body_seconds
    rate = counts.warp_instructions / seconds / 1e9 if seconds > 0 else 0.0
    dram = launch.distinct_load_sectors + launch.distinct_store_sectors
    every = counts.global_load_sectors + counts.global_store_sectors + counts.async_sectors
    every += counts.global_atomic_sectors + counts.bulk_load_sectors + counts.bulk_store_sectors
    over = ((dram, _DRAM, "DRAM"), (every, _L2, "L2"))
    return [(counts.warp_instructions / n, rate, colour, name) for n, colour, name in over if n and rate > 0]


def _draw_dots(axes: Any, dots: list[tuple[float, float, str, str]]) -> None:
    """Dots over L2 are drawn inside those over DRAM: without reuse, both are at one place."""
    for name, marker, size in (("DRAM", "o", 9), ("L2", "D", 5)):
        mine = [(x, y, colour) for x, y, colour, of in dots if of == name]
        for index, (x, y, colour) in enumerate(mine):
            label = f"this call, over sectors of {name}" if index == 0 else None
            axes.plot(
                [x], [y], marker, color=colour, markersize=size, zorder=3, label=label, linestyle="none"
            )
