"""How each kernel is drawn, the same in all charts: torch's dashed, each level darker than the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.flash.results import Found
from benchmarks.flash.ways import CUDNN, EFFICIENT, FLASH, FREE, GATED, V1, V2
from benchmarks.output import looks

# colour, mark, line
_OWN = {
    V1: (looks.GREY, "x", "-"),
    V2: ("black", "s", "-"),
    GATED: (looks.BLUE, "o", "-"),
    FREE: (looks.GREEN, "D", "-"),
    FLASH: (looks.PURPLE, "v", "--"),
    CUDNN: ("#CC3377", "^", "--"),
    EFFICIENT: ("#8A7000", "<", "--"),
}
_LEVELS = (
    ("#F6C27A", "p", "-"),
    ("#EE9A3A", "h", "-"),
    ("#D9731C", "*", "-"),
    ("#B3520F", "d", "-"),
    ("#7F3607", "P", "-"),
)


def look(way: Found, levels: list[str]) -> dict[str, Any]:
    """Arguments for matplotlib; `levels` are the names of all levels, in order."""
    number = levels.index(way["name"]) % len(_LEVELS) if way["kind"] == "level" else 0
    colour, mark, line = _OWN.get(way["name"], _LEVELS[number])
    thick = 1.8 if way["kind"] in ("v2", "gated", "free") else 1.2
    return {"color": colour, "marker": mark, "linestyle": line, "linewidth": thick, "markersize": 5}


def levels_of(shapes: list[Found]) -> list[str]:
    return list(
        dict.fromkeys(way["name"] for shape in shapes for way in shape["ways"] if way["kind"] == "level")
    )


def whiskers(values: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> list[list[float]]:
    """How far intervals reach below and above, never negative: rounding may put an end past its value."""
    return [
        [max(0.0, value - low) for value, low in zip(values, lows, strict=True)],
        [max(0.0, high - value) for value, high in zip(values, highs, strict=True)],
    ]


def time_whiskers(ways: Sequence[Found]) -> list[list[float]]:
    times, lows, highs = ([way[key] for way in ways] for key in ("microseconds", "low", "high"))
    return whiskers(times, lows, highs)
