"""`timeline()` as a notebook shows it: one row per warp, data in flight above, the warp's work below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from common.virtual_gpu.report import Timeline
from grader.notebook.seen import Seen
from grader.notebook.views.display import Display, excerpt, heading
from grader.notebook.views.line_costs import stalls
from grader.notebook.views.pictures import SEPARATOR, new_figure, picture, styled
from grader.notebook.views.warp_lanes import Flight, Interval, WarpLanes, lanes, overlap
from grader.render.pages.markup import Child, joined, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {  # drawn in this order: short ones last, so that they stay visible
    "wait": "#e3dcd0",
    "barrier": "#8c564b",
    "math": "#2ca02c",
    "issue of loads and copies": "#1f4e8c",
    "shared memory": "#e6a817",
    "global store": "#d6604d",
    "tensor": "#9b30a6",
    "global load": "#6baed6",
    "async copy": "#4bb8a9",
}
_MOST_BARS = 3000
_LEAST_WIDTH = 1 / 700  # of the picture, so that an instruction of one cycle is visible
_WORST_LINES = 3
_LEAST_SHARE = 1.0  # per cent of all waiting: less does not matter


class TimelineView(Display):
    """Loads beside work, for a few warps. `seen` has the spans."""

    def __init__(self, seen: Seen, warps: int) -> None:
        self.seen = seen
        timeline = seen.timeline
        shown = lanes(timeline, warps) if timeline is not None else []
        if timeline is None or not shown:
            sentence = f"{seen.title}: no kernel was launched in this call, so there is nothing to follow"
            super().__init__(sentence, tag("p", sentence, class_="bad"))
            return
        summary = _summary(timeline, shown)
        super().__init__(
            f"{seen.title}\n{summary}\n{_worst_text(seen, timeline)}", *_body(seen, timeline, shown)
        )


def _body(seen: Seen, timeline: Timeline, shown: Sequence[WarpLanes]) -> Iterable[Child]:
    yield tag("h3", f"{seen.title}, modelled")
    if seen.wrong:
        yield tag("p", f"Its answer is wrong here: {seen.wrong}", class_="bad")
    yield tag("p", _summary(timeline, shown))
    beside = (
        f"beside {timeline.resident - 1} more on its multiprocessor" if timeline.resident > 1 else "alone"
    )
    rest = " Only the beginning is shown." if timeline.cut else ""
    caption = (
        f"The first warps of one block, {beside}. The upper half of a row is data in flight to the warp, "
        f"each load or copy a bar; the lower half is what the warp does. Where it waits below while bars "
        f"are in flight above, nothing hides the latency.{rest}"
    )
    yield picture(gantt(seen, timeline, shown), caption)
    worst = _worst(timeline)
    if worst:
        yield heading("Where it waits longest")
    for line, share in worst:
        line_text = tag("p", f"line {line}: {share:.0f} % of all waiting")
        yield joined((line_text, excerpt(seen.source, line, around=1)))


def gantt(seen: Seen, timeline: Timeline, shown: Sequence[WarpLanes]) -> Figure:
    nanoseconds = 1e9 / timeline.cycles_per_second
    end = max(last for warp in shown for last in _ends(warp))
    levels = 1 + max((flight.level for warp in shown for flight in warp.flights), default=0)
    with styled():
        figure = new_figure(9.0, 1.3 + 0.7 * len(shown))
        axes = figure.subplots()
        for row, warp in enumerate(shown):
            for kind, colour in _COLOURS.items():
                bars = _bars(warp.doing.get(kind, ()), end, nanoseconds)
                axes.broken_barh(bars, (row, 0.35), facecolors=colour)
            _draw_flights(axes, row, warp.flights, levels, nanoseconds)
        used = {kind for warp in shown for kind in (*warp.doing, *(one.kind for one in warp.flights))}
        for kind, colour in _COLOURS.items():
            if kind in used:
                axes.barh([0], [0], color=colour, label=kind)
        axes.set(xlim=(0, end * nanoseconds), ylim=(len(shown) - 0.4, -0.6))
        axes.set_yticks(range(len(shown)), [f"warp {warp.warp}" for warp in shown])
        axes.set_xlabel(f"ns since the block began, modelled (a cycle is {nanoseconds:.2f} ns)")
        figure.legend(loc="outside upper center", ncols=min(len(used), 6), fontsize=8, frameon=False)
    return figure


def _ends(warp: WarpLanes) -> Iterable[float]:
    yield from (flight.end for flight in warp.flights)
    yield from (last for found in warp.doing.values() for _, last in found)


def _draw_flights(axes: Any, row: int, flights: Sequence[Flight], levels: int, scale: float) -> None:
    """From the middle of the row upwards, stacked where they overlap in time."""
    height = 0.5 / levels
    for flight in flights[:_MOST_BARS]:
        axes.broken_barh(
            [(flight.begin * scale, (flight.end - flight.begin) * scale)],
            (row - (flight.level + 1) * height, 0.9 * height),
            facecolors=_COLOURS[flight.kind],
            edgecolors=SEPARATOR,
            linewidth=0.5,
        )


def _bars(intervals: Sequence[Interval], end: float, scale: float) -> list[tuple[float, float]]:
    least = end * _LEAST_WIDTH
    return [(begin * scale, max(last - begin, least) * scale) for begin, last in intervals[:_MOST_BARS]]


def _summary(timeline: Timeline, shown: Sequence[WarpLanes]) -> str:
    flying, hidden = overlap(shown)
    if flying <= 0:
        return "These warps loaded nothing from global memory."
    nanoseconds = 1e9 / timeline.cycles_per_second / len(shown)
    return (
        f"Data is in flight to a warp for {flying * nanoseconds:,.0f} ns; during {hidden / flying:.0%} of "
        f"that time the warp does something else, and for the rest it waits (modelled)."
    )


def _worst(timeline: Timeline) -> list[tuple[int, float]]:
    found = [(line, share) for line, share in stalls(timeline).items() if share >= _LEAST_SHARE]
    return sorted(found, key=lambda item: -item[1])[:_WORST_LINES]


def _worst_text(seen: Seen, timeline: Timeline) -> str:
    return "\n".join(
        f"  {seen.file}:{line}  {share:.0f} % of all waiting" for line, share in _worst(timeline)
    )
