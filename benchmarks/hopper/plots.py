"""Draws exercise 06's speed beside cuDNN's from benchmarks/data/hopper, into its plots/.

python -m benchmarks.hopper.plots [--from FOLDER] [--out FOLDER]
"""

from __future__ import annotations

from typing import Any

from benchmarks.flash.plots.looks import whiskers
from benchmarks.flash.results import Found, way_of
from benchmarks.flash.ways import CUDNN, FLASH
from benchmarks.hopper.results import EXERCISE, FOLDER, LIKE_05, OURS
from benchmarks.output import looks
from benchmarks.output.charts import Charts, command
from grader.spec import BASELINE, Speedup, registry

_LOOKS = {OURS: (looks.GREEN, "D"), LIKE_05: (looks.BLUE, "o"), FLASH: (looks.PURPLE, "v")}


def figure(result: Found) -> Any:
    """How many times as fast as cuDNN, shape by shape."""
    from matplotlib import pyplot

    made, panel = pyplot.subplots(figsize=(11, 6), layout="constrained")
    shapes = result["shapes"]
    for name, (colour, mark) in _LOOKS.items():
        there = [(place, way) for place, shape in enumerate(shapes) if (way := way_of(shape, name))]
        ratios, lows, highs = ([way[key] for _, way in there] for key in ("ratio", "ratio_low", "ratio_high"))
        panel.errorbar(
            ratios,
            [place for place, _ in there],
            xerr=whiskers(ratios, lows, highs),
            fmt=mark,
            color=colour,
            capsize=2,
            label=name,
        )
    panel.axvline(1, color="black", linewidth=1, label=CUDNN)
    (target,) = [
        one for one in registry.find(EXERCISE).targets if isinstance(one, Speedup) and one.against != BASELINE
    ]
    panel.axvline(target.full, color=looks.GREY, linewidth=1, linestyle=":", label="full marks")
    panel.set_yticks(range(len(shapes)), [shape["name"] for shape in shapes])
    panel.invert_yaxis()
    panel.set(xlabel="times as fast as cuDNN", xlim=(0, None))
    panel.grid(axis="x", alpha=0.3)
    panel.legend(loc="lower left")
    made.suptitle(f"fp16, in a CUDA graph: medians with 95 % intervals ({looks.where(result)})")
    return made


CHARTS: Charts = {"latency": {"": figure}}

if __name__ == "__main__":
    command(__doc__, CHARTS, FOLDER)
