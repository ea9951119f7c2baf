"""The tables of docs/flash-attention.md, made from the committed measurements on the H200.

`benchmarks/documents/make_tables.py` writes them between the marks of that page. Times are medians, in
microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.flash.counters import flash_counters
from benchmarks.flash.decode import OURS
from benchmarks.flash.results import FOLDER, Found, names_of, shapes_of, way_of
from benchmarks.flash.shapes import FEW_HEADS, MAIN_LENGTH
from benchmarks.flash.ways import BACKENDS, CUDNN, EFFICIENT, FLASH, FREE, GATED
from benchmarks.output.markdown import table

MASKS = {"full": False, "causal": True}
NOTHING = "–"


def flash_ladder(mask: str = "full") -> str:
    """Every kernel at the exercise's target, against V2."""
    batch, heads = FEW_HEADS
    (shape,) = shapes_of(
        _latency(), batch=batch, heads=heads, length=MAIN_LENGTH, head_dim=64, causal=MASKS[mask]
    )
    rows = [
        [
            way["name"],
            f"{_time(way)} ({_time(way, 'low')} to {_time(way, 'high')})",
            f"{way['ratio']:.2f}× ({way['ratio_low']:.2f} to {way['ratio_high']:.2f})",
            _rate(way),
            f"{1e3 * way['error']:.2f} ‰",
        ]
        for way in shape["ways"]
    ]
    return table(["", "µs (95 % interval)", "as fast as V2", "TFLOP/s", "largest error"], rows)


def flash_torch(mask: str = "full") -> str:
    """Both configurations of V3 beside torch's kernels, with more and more heads."""
    rows = []
    for shape in shapes_of(_latency(), length=MAIN_LENGTH, head_dim=64, causal=MASKS[mask]):
        times = [_cell(way_of(shape, name), _time) for name in (GATED, FREE, *BACKENDS)]
        free = way_of(shape, FREE)
        over = [_over(way_of(shape, name), free) for name in (FLASH, CUDNN, EFFICIENT)]
        rows.append([str(shape["heads_in_all"]), *times, *over])
    ratios = [f"{name} over {FREE}" for name in (FLASH, CUDNN, EFFICIENT)]
    return table(["heads in all", GATED, FREE, *BACKENDS, *ratios], rows)


def flash_shapes(head_dim: str = "64", mask: str = "full") -> str:
    """Time over length; empty where a kernel was too slow to be timed."""
    batch, heads = FEW_HEADS
    shapes = shapes_of(_latency(), batch=batch, heads=heads, head_dim=int(head_dim), causal=MASKS[mask])
    rows = [[name, *(_cell(way_of(shape, name), _time) for shape in shapes)] for name in names_of(shapes)]
    return table(["", *(f"{shape['length']:,}" for shape in shapes)], rows)


def flash_decode(batch: str) -> str:
    """Time, and the share of a copy's bandwidth."""
    shapes = shapes_of(_result("decode"), batch=int(batch))
    names = [OURS, *BACKENDS]
    rows = [
        [f"{shape['context']:,}", *(_cell(way_of(shape, name), _time_and_share) for name in names)]
        for shape in shapes
    ]
    return table(["keys", *names], rows)


def _result(stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{stem}_h200.json").read_text())
    return found


def _latency() -> dict[str, Any]:
    return _result("latency")


def _cell(way: Found | None, show: Callable[[Found], str]) -> str:
    return NOTHING if way is None else show(way)


def _time(way: Found, which: str = "microseconds") -> str:
    return f"{way[which]:.1f}" if way[which] < 100 else f"{way[which]:,.0f}"


def _time_and_share(way: Found) -> str:
    return f"{_time(way)} ({100 * way['share_of_copy_bandwidth']:.0f} %)"


def _rate(way: Found) -> str:
    return f"{way['tflops']:.1f}" if way["tflops"] < 10 else f"{way['tflops']:.0f}"


def _over(above: Found | None, below: Found | None) -> str:
    if above is None or below is None:
        return NOTHING
    return f"{above['microseconds'] / below['microseconds']:.2f}×"


MAKERS: dict[str, Callable[..., str]] = {
    "flash_counters": flash_counters,
    "flash_ladder": flash_ladder,
    "flash_torch": flash_torch,
    "flash_shapes": flash_shapes,
    "flash_decode": flash_decode,
}
