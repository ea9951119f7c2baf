"""Numbers as a person reads them, always with their unit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

_NAMELESS = "(anonymous namespace)::"  # of no use to a reader
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"))


def seconds(value: float) -> str:
    """ "12.3 us", "1.50 s"."""
    if value <= 0 or not math.isfinite(value):
        return "–"
    scale, unit = next(((scale, unit) for scale, unit in _SECONDS if value >= scale), _SECONDS[-1])
    return f"{value / scale:.3g} {unit}" if value / scale < 100 else f"{value / scale:,.0f} {unit}"


def microseconds(value: float) -> str:
    """ "12.34 us", for lines whose unit is fixed."""
    return f"{value * 1e6:,.2f} us"


def bandwidth(value: float) -> str:
    """Bytes per second: "3.41 TB/s"."""
    if value <= 0 or not math.isfinite(value):
        return "–"
    scale, unit = next(((scale, unit) for scale, unit in _RATES if value >= scale), _RATES[-1])
    return f"{value / scale:.3g} {unit}"


def terabytes(value: float) -> str:
    return f"{value / 1e12:.3f} TB/s"


def size(value: int) -> str:
    """ "16 KiB", "100 bytes"."""
    for scale, unit in _BYTES:
        if value >= scale:
            return f"{value / scale:.3g} {unit}" if value / scale < 1000 else f"{value / scale:,.0f} {unit}"
    return counted(value, "byte")


def counted(value: int, noun: str, plural: str = "") -> str:
    """ "1 record", "1,024 records"; `plural` where an s is not enough."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def ratio(value: float) -> str:
    return f"{value:.2f} x"


def interval(low: float, high: float) -> str:
    return f"{low:.2f}–{high:.2f} x"


def points(value: float) -> str:
    """ "25", "12.5": without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def points_of(value: float, most: float) -> str:
    return f"{points(value)}/{points(most)}"


def sizes(values: Mapping[str, int], usual: Mapping[str, int] | None = None) -> str:
    """Without those that are as `usual`. Commas only from five digits on."""
    shown = {name: value for name, value in values.items() if (usual or {}).get(name) != value}
    if values and not shown:
        return "the usual"
    return ", ".join(
        f"{name} {value:,}" if value >= 10_000 else f"{name} {value}" for name, value in shown.items()
    )


def usual_sizes(cases: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The sizes that most of several cases share: a table is easier to read without them."""
    usual = {}
    for name in dict.fromkeys(name for case in cases for name in case):
        [(value, times)] = Counter(case.get(name) for case in cases).most_common(1)
        if value is not None and 1 < times > len(cases) / 2:
            usual[name] = value
    return usual


def duration(value: float) -> str:
    """Waiting time: "45 s", "3 min", "1 h 20 min"."""
    whole = math.ceil(value)
    if whole < 90:
        return f"{whole} s"
    minutes = math.ceil(value / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def short_kernel(name: str) -> str:
    """A kernel without its parameter list: templates keep their arguments."""
    name = name.replace(_NAMELESS, "")
    depth = 0
    for index, char in enumerate(name):
        depth += (char == "<") - (char == ">")
        if char == "(" and depth == 0 and index > 0:
            return name[:index].removeprefix("void ")
    return name
