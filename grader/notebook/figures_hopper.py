"""Figures of attention on Hopper: a ring's phases, the swizzle, overlap of weights and products, and the work
of blocks under a causal mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.notebook.views.display import Display
from grader.notebook.views.pictures import EMPTY, INK, SEPARATOR, ink_on, new_figure, picture, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BY_PARITY = ("#6baed6", "#e6a817")
_PRODUCTS, _WEIGHTS, _CHOSEN, _EDGE = "#9b30a6", "#4bb8a9", "#9b30a6", "#555555"
_PIECES = 8  # of 16 bytes, in a row of 128
_HEIGHT = 0.8  # of a bar

Bar = tuple[float, float]  # when it begins, and how long it takes


def ring_phases(stages: int, tiles: int, copy: float, work: float) -> Display:
    """Phases of each stage's barriers in time, coloured by parity, with the tile that completes each."""
    ring = _ring(stages, tiles, copy, work)
    with styled():
        figure = new_figure(9.0, 0.9 + 0.62 * stages)
        axes = figure.subplots()
        end = ring[-1][1] + work
        for stage in range(stages):
            mine = range(stage, tiles, stages)
            for row, ends in (
                (2 * stage, [ring[tile][0] + copy for tile in mine]),
                (2 * stage + 1, [ring[tile][1] + work for tile in mine]),
            ):
                begins = [0.0, *ends]
                for phase, (begin, until) in enumerate(zip(begins, [*ends, end], strict=True)):
                    if until <= begin:
                        continue
                    open_still = phase == len(ends)
                    words = f"phase {phase}" if open_still else f"phase {phase}: tile {mine[phase]}"
                    _bar(axes, (begin, until - begin), row, _BY_PARITY[phase % 2], words)
        names = [f"{name}[{stage}]" for stage in range(stages) for name in ("full", "empty")]
        axes.set_yticks([row + _HEIGHT / 2 for row in range(2 * stages)], names)
        axes.set(xlabel="time, in units", xlim=(0, end))
        axes.invert_yaxis()
        for parity, colour in enumerate(_BY_PARITY):
            axes.barh([0], [0], color=colour, label=f"parity {parity}")
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    caption = (
        f"{tiles} tiles in a ring of {stages} stages; a copy takes {copy:g} units, the work on a tile "
        f"{work:g}. A phase of `full` ends when its tile has arrived, one of `empty` when its tile has been "
        "read. A phase that names no tile is still open."
    )
    return _shown(figure, caption)


def _ring(stages: int, tiles: int, copy: float, work: float) -> list[tuple[float, float]]:
    """When each tile's copy begins, and when the work on it does."""
    made: list[tuple[float, float]] = []
    for tile in range(tiles):
        free = made[tile - stages][1] + work if tile >= stages else 0.0
        begun = max(free, made[-1][0] + copy) if made else free
        worked = max(begun + copy, made[-1][1] + work) if made else begun + copy
        made.append((begun, worked))
    return made


def swizzled_pieces(piece: int) -> Display:
    """Where eight rows keep their eight pieces, in order and swizzled; piece `piece` of each is coloured."""
    with styled():
        figure = new_figure(9.0, 3.0)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, name, key in zip(panels, ("in order", "swizzled"), (0, _PIECES - 1), strict=True):
            places = set()
            for row in range(_PIECES):
                for place in range(_PIECES):
                    held = place ^ (row & key)
                    colour = _CHOSEN if held == piece else EMPTY
                    places |= {place} if held == piece else set()
                    _box(axes, place, row, colour, str(held))
            groups = "4 banks" if len(places) == 1 else f"{4 * len(places)} banks"
            axes.set(xlim=(0, 8), ylim=(8, 0), title=f"{name}: piece {piece} of all rows is in {groups}")
            axes.set_xticks([place + 0.5 for place in range(8)], [f"{4 * i}–{4 * i + 3}" for i in range(8)])
            axes.set_yticks([row + 0.5 for row in range(8)], [str(row) for row in range(8)])
            axes.set_xlabel("banks")
        panels[0].set_ylabel("row")
    caption = (
        "Eight rows of 128 bytes in shared memory, and the number of the 16-byte piece that lies at each "
        "place. Rows 8 to 15 are like rows 0 to 7."
    )
    return _shown(figure, caption)


def overlaps(tiles: int, products: float, weights: float) -> Display:
    """When one consumer or two multiply and compute weights: in order, overlapped, and in turns."""
    schedules = {
        "in order": [_in_order(tiles, products, weights)],
        "overlapped": [_overlapped(tiles, products, weights)],
        "two, in turns": _in_turns(tiles, products, weights),
    }
    with styled():
        figure = new_figure(9.0, 3.0)
        axes = figure.subplots()
        row, ticks, per_tile = 0, [], {}
        for name, groups in schedules.items():
            for number, (multiplied, weighed) in enumerate(groups):
                for bars, colour in ((multiplied, _PRODUCTS), (weighed, _WEIGHTS)):
                    for bar in bars:
                        _bar(axes, bar, row, colour, "")
                    ticks.append((row + _HEIGHT / 2, f"{name}{f' {number}' if len(groups) > 1 else ''}"))
                    row += 1
            row += 1
            per_tile[name] = _end(groups) / (tiles * len(groups))
        axes.set_yticks([at for at, _ in ticks[::2]], [words for _, words in ticks[::2]])
        axes.set_xlabel("time, in units")
        axes.invert_yaxis()
        for words, colour in (("products", _PRODUCTS), ("weights", _WEIGHTS)):
            axes.barh([0], [0], color=colour, label=words)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    times = "; ".join(f"{name}: {units:.2f}" for name, units in per_tile.items())
    caption = (
        f"{tiles} tiles for each consumer; the products of a tile take {products:g} units on the tensor "
        f"cores, its weights {weights:g}. Units per tile: {times}."
    )
    return _shown(figure, caption)


Schedule = tuple[list[Bar], list[Bar]]  # products, and weights


def _in_order(tiles: int, products: float, weights: float) -> Schedule:
    """Scores, weights, values; each half of the products waits for what is before it."""
    half, period = products / 2, products + weights
    multiplied = [(tile * period + at, half) for tile in range(tiles) for at in (0, half + weights)]
    return multiplied, [(tile * period + half, weights) for tile in range(tiles)]


def _overlapped(tiles: int, products: float, weights: float) -> Schedule:
    """Scores of a tile and the values of the one before are begun together; weights need the scores alone."""
    half = products / 2
    multiplied, weighed = [(0.0, half)], [(half, weights)]
    for _ in range(1, tiles):
        begin = max(_over(multiplied), _over(weighed))
        multiplied.append((begin, products))
        weighed.append((begin + half, weights))
    multiplied.append((max(_over(multiplied), _over(weighed)), half))
    return multiplied, weighed


def _in_turns(tiles: int, products: float, weights: float) -> list[Schedule]:
    """Two consumers: one multiplies while the other computes weights."""
    made: list[Schedule] = [([], []), ([], [])]
    free = 0.0  # when the tensor cores are
    for _ in range(tiles):
        for multiplied, weighed in made:
            begin = max(free, _over(weighed) if weighed else 0.0)
            free = begin + products
            multiplied.append((begin, products))
            weighed.append((free, weights))
    return made


def _over(bars: Sequence[Bar]) -> float:
    return sum(bars[-1])


def _end(groups: Sequence[Schedule]) -> float:
    return max(_over(bars) for group in groups for bars in group)


def causal_work(heads: int, length: int, rows: int, keys: int, blocks: int) -> Display:
    """How many tiles of keys each block multiplies under a causal mask: tiles of rows in order, and in
    pairs."""
    tiles = -(-length // rows)
    shares = {
        "in order": _dealt([[tile] for tile in range(tiles)], heads, blocks),
        "in pairs": _dealt(_pairs(tiles), heads, blocks),
    }
    with styled():
        figure = new_figure(9.0, 2.8)
        panels = figure.subplots(1, 2, sharey=True)
        reached = {}
        for axes, (name, taken) in zip(panels, shares.items(), strict=True):
            work = [sum(_key_tiles(tile, length, rows, keys) for tile in mine) for mine in taken]
            mean = sum(work) / blocks
            reached[name] = mean / max(work)
            axes.bar(range(blocks), work, width=1.0, color=_WEIGHTS)
            axes.axhline(mean, color=INK, linestyle="--", linewidth=1)
            axes.set(xlabel="block", title=name, xlim=(-0.5, blocks - 0.5))
        panels[0].set_ylabel("tiles of keys")
    busy = ", ".join(f"{name} {share:.0%}" for name, share in reached.items())
    caption = (
        f"{heads} heads of {length:,} rows, causal, on {blocks} blocks that take tiles of {rows} rows by "
        f"their numbers. The dashed line is the mean. Mean over longest: {busy}."
    )
    return _shown(figure, caption)


def _key_tiles(tile: int, length: int, rows: int, keys: int) -> int:
    """That a tile of rows sees."""
    return -(-min(length, (tile + 1) * rows) // keys)


def _pairs(tiles: int) -> list[list[int]]:
    """The n-th longest with the n-th shortest."""
    return [[tiles - 1 - n, n] if tiles - 1 - n != n else [n] for n in range((tiles + 1) // 2)]


def _dealt(of_a_head: Sequence[list[int]], heads: int, blocks: int) -> list[list[int]]:
    """What each block takes, one after the other."""
    everything = [taken for _ in range(heads) for taken in of_a_head]
    return [[tile for taken in everything[block::blocks] for tile in taken] for block in range(blocks)]


def _bar(axes: Any, bar: Bar, row: float, colour: str, words: str) -> None:
    begin, length = bar
    axes.broken_barh([bar], (row, _HEIGHT), facecolors=colour, edgecolors=SEPARATOR)
    axes.text(
        begin + length / 2,
        row + _HEIGHT / 2,
        words,
        ha="center",
        va="center",
        fontsize=7,
        color=ink_on(colour),
        clip_on=True,
    )


def _box(axes: Any, x: float, y: float, colour: str, words: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=_EDGE, linewidth=0.4))
    axes.text(x + 0.5, y + 0.5, words, ha="center", va="center", fontsize=7, color=ink_on(colour))


def _shown(figure: Figure, caption: str) -> Display:
    return Display(caption, picture(figure, caption))
