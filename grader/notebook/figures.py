"""Figures that notebooks draw to explain something: each is a call with the numbers that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.notebook.seen import Seen
from grader.notebook.views.display import Display
from grader.notebook.views.pictures import EMPTY, INK, SEPARATOR, ink_on, new_figure, picture, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SOURCE, _DESTINATION, _EDGE = "#6baed6", "#d6604d", "#555555"
_GAP = "#e3dcd0"
_LANES, _SECTOR, _WORD, _BANKS = 32, 32, 4, 32


def scattered_pages(indices: Sequence[int], pages: int) -> Display:
    """Rows that lie side by side, and the pages of the cache that their indices name."""
    with styled():
        figure = new_figure(9.0, 2.4)
        axes = _bare(figure, "pages of the cache, in memory order", "new rows, token by token")
        for token in range(len(indices)):
            _box(axes, token, 2, _SOURCE, f"token {token}")
        for page in range(pages):
            owner = f"page {page}" if page not in indices else f"page {page}\n← {indices.index(page)}"
            _box(axes, page, 0, _DESTINATION if page in indices else EMPTY, owner)
        for token, page in enumerate(indices):
            axes.annotate(
                "", (page + 0.45, 0.95), (token + 0.45, 1.95), arrowprops={"arrowstyle": "->", "color": INK}
            )
        axes.set(xlim=(-0.2, max(pages, len(indices)) + 0.1), ylim=(-0.2, 3.1))
    caption = (
        "indices[token] names the page. Rows come in order and leave in any order: the source of a store is "
        "one stream of bytes, its destination is not. Pages that no index names stay as they are."
    )
    return _shown(figure, caption)


def wide_table(rows: int, columns: int, captured_rows: int, captured_columns: int) -> Display:
    """The batch's dense table, and the corner of the captured one that it goes to, with addresses."""
    with styled():
        figure = new_figure(9.0, 0.5 + 0.36 * captured_rows)
        left, right = figure.subplots(1, 2, width_ratios=(columns, captured_columns))
        for axes, title, width, height in (
            (left, f"source, row stride {columns}", columns, rows),
            (right, f"captured, row stride {captured_columns}", captured_columns, captured_rows),
        ):
            for row in range(height):
                for column in range(width):
                    used = row < rows and column < columns
                    colour = (_SOURCE if axes is left else _DESTINATION) if used else EMPTY
                    _box(axes, column, -row, colour, str(row * width + column))
            axes.set(xlim=(-0.1, width), ylim=(-captured_rows + 0.9, 1.0), title=title)
            axes.axis("off")
    caption = (
        "Elements numbered by their place in memory. The copied corner is dense on the left and has gaps on "
        "the right: row r begins at r × stride, and the two strides differ. Grey elements must not change."
    )
    return _shown(figure, caption)


def launches_in_time(profiles: Mapping[str, Display]) -> Display:
    """The launches of calls inside a graph, one after the other, as modelled.

    Takes results of Lab.profile by the name to show; one that could not run has an empty row.
    """
    calls = {name: getattr(shown, "seen", None) for name, shown in profiles.items()}
    with styled():
        figure = new_figure(9.0, 1.1 + 0.5 * len(calls))
        axes = figure.subplots()
        for row, seen in enumerate(calls.values()):
            at = 0.0
            for gap, body in _gaps_and_bodies(seen):
                axes.barh(row, gap, left=at, color=_GAP, edgecolor=SEPARATOR)
                axes.barh(row, body, left=at + gap, color=_DESTINATION, edgecolor=SEPARATOR)
                at += gap + body
        axes.barh([0], [0], color=_GAP, label="until it starts")
        axes.barh([0], [0], color=_DESTINATION, label="it runs")
        axes.set_yticks(range(len(calls)), list(calls))
        axes.invert_yaxis()
        axes.set_xlabel("µs inside a graph, modelled")
        axes.xaxis.set_visible(any(seen is not None and seen.launches for seen in calls.values()))
        figure.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    counted = "; ".join(
        f"{name}: {len(seen.launches) if seen is not None else 'did not run'}" for name, seen in calls.items()
    )
    return _shown(figure, f"Launches in a call, one after the other ({counted}).")


def _gaps_and_bodies(seen: Seen | None) -> list[tuple[float, float]]:
    """Microseconds before each launch and in it. Inside a graph all gaps are alike."""
    if seen is None or not seen.launches:
        return []
    bodies = [launch.cost.body_seconds * 1e6 for launch in seen.launches]
    gap = (seen.seconds_in_a_graph * 1e6 - sum(bodies)) / len(bodies)
    return [(gap, body) for body in bodies]


def copies_by_size(copies: Mapping[str, int]) -> Display:
    """Bytes of each copy of a batch, on a logarithmic axis."""
    with styled():
        figure = new_figure(9.0, 0.8 + 0.26 * len(copies))
        axes = figure.subplots()
        axes.barh(list(copies), list(copies.values()), color=_SOURCE)
        for row, size in enumerate(copies.values()):
            axes.text(size * 1.1, row, f"{size:,} B", va="center", fontsize=8)
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="bytes copied", xlim=(1, max(copies.values()) * 20))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    most = max(copies.values()) / sum(copies.values())
    return _shown(
        figure, f"One step's copies. The largest has {most:.1%} of all bytes; each is a separate launch."
    )


def warp_sectors(strides: Sequence[int]) -> Display:
    """Which 32-byte sectors the 32 lanes of a warp touch when lane i loads word i × stride."""
    with styled():
        figure = new_figure(9.0, 0.7 + 0.45 * len(strides))
        axes = figure.subplots()
        words = _LANES * max(strides)
        for row, stride in enumerate(strides):
            asked = [lane * stride for lane in range(_LANES)]
            sectors = sorted({word * _WORD // _SECTOR for word in asked})
            for sector in sectors:
                first = sector * _SECTOR // _WORD
                axes.broken_barh([(first, _SECTOR // _WORD)], (row - 0.3, 0.6), facecolors="#cfe3f3")
            axes.broken_barh([(word, 0.8) for word in asked], (row - 0.3, 0.6), facecolors=_DESTINATION)
            axes.text(words + 3, row, f"{len(sectors)} sectors", va="center", fontsize=8)
        axes.set_yticks(range(len(strides)), [f"stride {stride}" for stride in strides])
        axes.set(xlim=(0, words * 1.12), xlabel="word of 4 bytes")
        axes.invert_yaxis()
    caption = (
        "One request of a warp. Red words are requested, blue bytes move: memory transfers whole sectors of "
        "32 bytes."
    )
    return _shown(figure, caption)


def warp_banks(strides: Sequence[int]) -> Display:
    """How many different words of a warp's request fall into each of the 32 banks of shared memory."""
    with styled():
        figure = new_figure(9.0, 1.2 + 0.8 * len(strides))
        panels = figure.subplots(len(strides), 1, sharex=True, squeeze=False)[:, 0]
        for axes, stride in zip(panels, strides, strict=True):
            held = [0] * _BANKS
            for word in {lane * stride for lane in range(_LANES)}:
                held[word % _BANKS] += 1
            axes.bar(range(_BANKS), held, color=_DESTINATION)
            axes.set_ylabel(f"stride {stride}\nturns: {max(held)}", rotation=0, ha="right", va="center")
            axes.set(ylim=(0, max(max(held), 2)))
        panels[-1].set_xlabel("bank")
    caption = (
        "Words that the 32 lanes request from each bank. A bank gives one word per turn, so the fullest bank "
        "sets the number of turns (wavefronts) of the request."
    )
    return _shown(figure, caption)


def _shown(figure: Figure, caption: str) -> Display:
    return Display(caption, picture(figure, caption))


def _bare(figure: Figure, below: str, above: str) -> Any:
    axes = figure.subplots()
    axes.axis("off")
    axes.text(0, 3.05, above, fontsize=8)
    axes.text(0, -0.18, below, fontsize=8)
    return axes


def _box(axes: Any, x: float, y: float, colour: str, words: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), 0.9, 0.9, facecolor=colour, edgecolor=_EDGE, linewidth=0.6))
    axes.text(x + 0.45, y + 0.45, words, ha="center", va="center", fontsize=7, color=ink_on(colour))
