"""The table of docs/hopper-attention.md, made from the committed measurement on the H200."""

from __future__ import annotations

import json
from collections.abc import Callable

from benchmarks.flash.results import Found, way_of
from benchmarks.flash.ways import CUDNN, FLASH
from benchmarks.hopper.results import FOLDER, IN_ORDER, LIKE_05, OURS, OVERLAPPED, mean_ratio
from benchmarks.output.markdown import table

_COLUMNS = (IN_ORDER, OVERLAPPED, OURS, LIKE_05, CUDNN, FLASH)


def hopper_latency() -> str:
    """Microseconds, and how many times as fast as torch's kernels, with the interval for cuDNN."""
    shapes = json.loads((FOLDER / "latency_h200.json").read_text())["shapes"]
    rows = [[shape["name"], *(_time(shape, name) for name in _COLUMNS), *_ratios(shape)] for shape in shapes]
    means = [f"{mean_ratio(shapes, OURS, name):.2f}×" for name in (CUDNN, FLASH)]
    rows.append(["geometric mean", *[""] * (len(_COLUMNS)), *means])
    return table(["µs", *_COLUMNS, f"06 over {CUDNN}", f"06 over {FLASH}"], rows)


def _time(shape: Found, name: str) -> str:
    way = way_of(shape, name)
    if way is None:
        return "–"
    return f"{way['microseconds']:.1f}" if way["microseconds"] < 100 else f"{way['microseconds']:,.0f}"


def _ratios(shape: Found) -> tuple[str, str]:
    ours, flash = way_of(shape, OURS), way_of(shape, FLASH)
    if ours is None or flash is None:
        return "–", "–"
    low, high = ours["ratio_low"], ours["ratio_high"]
    return (
        f"{ours['ratio']:.2f}× ({low:.2f} to {high:.2f})",
        f"{flash['microseconds'] / ours['microseconds']:.2f}×",
    )


MAKERS: dict[str, Callable[..., str]] = {"hopper_latency": hopper_latency}
