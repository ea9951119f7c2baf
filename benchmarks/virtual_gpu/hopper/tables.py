"""The tables of Hopper's counters in docs/counters.md, from what ncu counted on the H200."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.output.markdown import table
from benchmarks.virtual_gpu.hopper.counted import APART, FIGURES, recorded


def hopper_counters() -> str:
    """Sums over a program's launches, which the virtual GPU counts alike; a dash where it does not."""
    rows = []
    for program, launches in recorded().items():
        sums = {figure: sum(figure.measured(one["metrics"]) for one in launches) for figure in FIGURES}
        if any(sums.values()):
            cells = ["–" if (program, figure) in APART else f"{sums[figure]:,}" for figure in FIGURES]
            rows.append([f"`{program}`", str(len(launches)), *cells])
    return table(["program", "launches", *(figure.name for figure in FIGURES)], rows)


def hopper_apart() -> str:
    """One paragraph per reason, with the programs it explains."""
    text = []
    for reason in dict.fromkeys(APART.values()):
        programs = dict.fromkeys(program for (program, _), other in APART.items() if other == reason)
        text.append(f"- {reason} {', '.join(f'`{program}`' for program in programs)}.\n")
    return "".join(text)


MAKERS: dict[str, Callable[..., str]] = {
    "hopper_counters": hopper_counters,
    "hopper_apart": hopper_apart,
}
