"""Figures of attention in tiles: a block's scores, overlap of copies and products, fragments, and banks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.notebook.views.display import Display
from grader.notebook.views.pictures import EMPTY, INK, SEPARATOR, ink_on, new_figure, picture, styled
from grader.words import numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DONE, _NOW, _NEXT, _SKIPPED = "#bcbddc", "#9b30a6", "#4bb8a9", "none"
_COPY, _WORK, _EDGE = "#4bb8a9", "#9b30a6", "#555555"
_ROWS_A_MATRIX, _PIECES, _BANKS_A_PIECE = 8, 8, 4


def score_tiles(length: int, rows: int, keys: int, *, block: int, now: int, causal: bool = False) -> Display:
    """All scores of a head, cut into tiles: one block's finished, current and next tiles."""
    with styled():
        figure = new_figure(6.0, 4.6)
        axes = figure.subplots()
        query_tiles, key_tiles = -(-length // rows), -(-length // keys)
        seen = 0
        for row in range(query_tiles):
            for column in range(key_tiles):
                hidden = causal and column * keys > min(length, (row + 1) * rows) - 1
                seen += not hidden
                colour = _SKIPPED if hidden else _tile_colour(row == block, column, now)
                _tile(axes, column * keys, row * rows, keys, rows, colour)
        if causal:
            axes.plot([0, length], [0, length], color=INK, linewidth=1, linestyle="--")
        for name, colour in (
            ("done", _DONE),
            ("in use", _NOW),
            ("in flight", _NEXT),
            ("other blocks", EMPTY),
        ):
            axes.bar([0], [0], color=colour, edgecolor=_EDGE, linewidth=0.4, label=name)
        axes.set(xlim=(0, length), ylim=(length, 0), xlabel="key", ylabel="row of queries", aspect="equal")
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    mask = f"; with a causal mask {seen} of them are made" if causal else ""
    caption = (
        f"The {length} × {length} scores of a head in tiles of {rows} × {keys}: {query_tiles} × {key_tiles} "
        f"tiles{mask}. No tile is ever stored; a block keeps only the state of its rows."
    )
    return _shown(figure, caption)


def _tile_colour(mine: bool, column: int, now: int) -> str:
    if not mine or column > now + 1:
        return EMPTY
    return _DONE if column < now else _NOW if column == now else _NEXT


def pipelines(tiles: int, copy: float, work: float) -> Display:
    """When tiles are copied and used, in units of time: with one buffer, then with two (double buffering)."""
    with styled():
        figure = new_figure(9.0, 2.6)
        axes = figure.subplots()
        ends = []
        for row, stages in enumerate((1, 2)):
            copies, works = _schedule(tiles, copy, work, stages)
            for y, times, length, colour in (
                (3 * row, copies, copy, _COPY),
                (3 * row + 1, works, work, _WORK),
            ):
                for number, begin in enumerate(times):
                    axes.broken_barh([(begin, length)], (y, 0.8), facecolors=colour, edgecolors=SEPARATOR)
                    middle = begin + length / 2
                    axes.text(
                        middle, y + 0.4, str(number), ha="center", va="center", color="white", fontsize=8
                    )
            ends.append(works[-1] + work)
        names = [
            f"{what}, {stages}" for stages in ("one stage", "two stages") for what in ("copies", "products")
        ]
        axes.set_yticks([0.4, 1.4, 3.4, 4.4], names)
        axes.set(xlabel="time, in units", xlim=(0, max(ends) * 1.02))
        axes.invert_yaxis()
    caption = (
        f"{tiles} tiles, a copy takes {copy:g} and the products of a tile {work:g}. One buffer: {ends[0]:g} "
        f"units. Two buffers, where the next copy starts before this tile is used: {ends[1]:g}."
    )
    return _shown(figure, caption)


def _schedule(tiles: int, copy: float, work: float, stages: int) -> tuple[list[float], list[float]]:
    """Start times of each copy and of each tile's products: a copy waits for a buffer and for the last
    copy."""
    copies: list[float] = []
    works: list[float] = []
    for number in range(tiles):
        free = works[number - stages] + work if number >= stages else 0.0
        copied = copies[-1] + copy if copies else 0.0
        copies.append(max(free, copied))
        done = works[-1] + work if works else 0.0
        works.append(max(copies[-1] + copy, done))
    return copies, works


def score_fragment(lanes: Sequence[int]) -> Display:
    """16 rows by 8 keys as an mma leaves them: the lane of each score; those of some lanes are coloured."""
    colours = ("#e6693e", "#4bb8a9", "#c9a0dc", "#e6a817", "#6baed6")
    with styled():
        figure = new_figure(6.0, 4.6)
        axes = figure.subplots()
        for row in range(16):
            for key in range(8):
                lane = row % 8 * 4 + key // 2
                mine = lanes.index(lane) if lane in lanes else None
                colour = EMPTY if mine is None else colours[mine % len(colours)]
                _tile(axes, key, row, 1, 1, colour)
                number = row // 8 * 2 + key % 2
                words, ink = f"{lane}: c[{number}]", ink_on(colour)
                axes.text(key + 0.5, row + 0.5, words, ha="center", va="center", fontsize=7, color=ink)
        axes.set(xlim=(0, 8), ylim=(16, 0), xlabel="key of the tile", ylabel="row of the sixteen")
        axes.set_xticks([i + 0.5 for i in range(8)], [str(i) for i in range(8)])
        axes.set_yticks([i + 0.5 for i in range(16)], [str(i) for i in range(16)])
    caption = (
        "Scores of one mma, lane and register of each: lane 4g + t has rows g and g + 8, keys 2t and 2t + 1. "
        "A row belongs to four lanes, and the first operand of the next mma needs it in the same four."
    )
    return _shown(figure, caption)


def piece_banks(piece: int) -> Display:
    """Eight rows of 128 bytes: the banks of piece `piece` of each row, in order and in an order without
    conflicts."""
    with styled():
        figure = new_figure(9.0, 2.9)
        panels = figure.subplots(1, 2, sharey=True)
        orders = (("in order", lambda row: piece), ("another order in each row", lambda row: piece ^ row))
        for axes, (name, place) in zip(panels, orders, strict=True):
            met = [0] * _PIECES
            for row in range(_ROWS_A_MATRIX):
                met[place(row)] += 1
                for column in range(_PIECES):
                    wanted = column == place(row)
                    _tile(axes, column * _BANKS_A_PIECE, row, _BANKS_A_PIECE, 1, _NOW if wanted else EMPTY)
            passes = numbers.counted(max(met), "wavefront", "wavefronts")
            axes.set(xlim=(0, 32), ylim=(8, 0), xlabel="bank", title=f"{name}: {passes}")
            axes.set_xticks(range(0, 33, 4))
        panels[0].set_ylabel("row")
    caption = (
        f"One matrix of an ldmatrix: piece {piece}, 16 bytes, of eight rows of 64 halves. Pieces in the same "
        "banks come one after the other."
    )
    return _shown(figure, caption)


def _tile(axes: Any, x: float, y: float, width: float, height: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=_EDGE, linewidth=0.4))


def _shown(figure: Figure, caption: str) -> Display:
    return Display(caption, picture(figure, caption))
