"""The tables of counters in docs/virtual-gpu.md and docs/counters.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.output.markdown import table
from benchmarks.virtual_gpu.counters import comparison
from benchmarks.virtual_gpu.counters.comparison import (
    DIFFERENCES,
    FIGURES,
    RECORDED,
    Figure,
    expected,
    short_name,
)

# One launch of each kind, and the figures that get a column.
SAMPLES = (
    *(("global_copies", 5), ("global_strides", 3), ("global_scatter", 0), ("partial_warps", 5)),
    *(("transposes", 0), ("transposes", 1), ("transposes", 2), ("shared_widths", 12)),
    *(("cp_async_layouts", 3), ("cp_async_layouts", 5), ("kv_rows", 2), ("ldmatrix_layouts", 0)),
    *(("ldmatrix_layouts", 1), ("mma_matmul", 0), ("mma_matmul", 1), ("atomics", 2), ("local_arrays", 1)),
    ("row_softmax", 0),
)
SAMPLE_COLUMNS: dict[str, tuple[Figure, ...]] = {
    "global loads": (comparison.LOAD_REQUESTS, comparison.LOAD_SECTORS),
    "global stores": (comparison.STORE_REQUESTS, comparison.STORE_SECTORS),
    "global atomics": (comparison.ATOMIC_REQUESTS, comparison.ATOMIC_SECTORS),
    "shared load wavefronts": (comparison.LOAD_WAVEFRONTS,),
    "shared store wavefronts": (comparison.STORE_WAVEFRONTS,),
    "cp.async": (comparison.COPIES,),
    "ldmatrix": (comparison.MATRIX_LOADS,),
    "tensor": (comparison.TENSOR,),
}


def _pair(program: str, launch: int, figure: Figure) -> tuple[int, int]:
    return expected(program, launch, figure), figure.measured(RECORDED[program][launch]["metrics"])


def _cell(pairs: Sequence[tuple[int, int]]) -> str:
    """ "256 / 2,048" where both sides agree; "**3,996 / 14,481** (H200: 5,994 / 15,483)" where not."""
    ours, theirs = zip(*pairs, strict=True)
    if not any(ours) and not any(theirs):
        return ""
    virtual = " / ".join(f"{value:,}" for value in ours)
    return (
        virtual if ours == theirs else f"**{virtual}** (H200: {' / '.join(f'{value:,}' for value in theirs)})"
    )


def counter_samples() -> str:
    rows = []
    for program, launch in SAMPLES:
        kernel = short_name(RECORDED[program][launch]["kernel"])
        cells = [_cell([_pair(program, launch, f) for f in figures]) for figures in SAMPLE_COLUMNS.values()]
        rows.append([f"`{kernel}`", *cells])
    header = ["kernel", *(f"{name} {_unit(figures)}".strip() for name, figures in SAMPLE_COLUMNS.items())]
    return table(header, rows)


def _unit(figures: Sequence[Figure]) -> str:
    return "(requests / sectors)" if len(figures) == 2 else ""


def counter_summary() -> str:
    rows = []
    totals = [0, 0, 0]
    for program, launches in RECORDED.items():
        pairs = [_pair(program, index, figure) for index in range(len(launches)) for figure in FIGURES]
        compared = [pair for pair in pairs if any(pair)]
        counts = [len(launches), len(compared), sum(ours == theirs for ours, theirs in compared)]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        rows.append([f"`{program}`", *map(str, counts)])
    header = ["program", "launches", "figures that are not zero", "of them equal"]
    return table(header, [*rows, ["all", *(f"**{total}**" for total in totals)]])


def counter_differences() -> str:
    """One paragraph per reason, with every launch it explains."""
    text = []
    for reason in dict.fromkeys(entry.reason for entry in DIFFERENCES):
        entries = [entry for entry in DIFFERENCES if entry.reason == reason]
        theirs = {
            entry: entry.figure.measured(RECORDED[entry.program][entry.launch]["metrics"])
            for entry in entries
        }
        listed = [
            f"`{entry.kernel}` {entry.figure.name} {entry.virtual:,} (H200: {theirs[entry]:,})"
            for entry in entries
        ]
        text.append(f"- {reason}\n  {'; '.join(listed)}.\n")
    return "".join(text)


def counter_launches() -> str:
    """Every launch of every program; a column for each figure that is not zero throughout the program."""
    text = []
    for program, launches in RECORDED.items():
        used = [f for f in FIGURES if any(any(_pair(program, index, f)) for index in range(len(launches)))]
        rows = [
            [f"`{short_name(launch['kernel'])}`", *(_cell([_pair(program, index, f)]) or "0" for f in used)]
            for index, launch in enumerate(launches)
        ]
        text.append(f"## {program}\n\n{table(['kernel', *(figure.name for figure in used)], rows)}")
    return "\n".join(text)


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (counter_samples, counter_summary, counter_differences, counter_launches)
}
