"""Writes the tables and sample outputs of PAGES from the committed measurements and real runs.

    python -m docs.make_tables            rewrite what has changed
    python -m docs.make_tables --check    say what has changed, and end with status 1

A page marks what is made here, in copy_tables.py and record_tables.py of benchmarks/, or in the tables.py of
its folders bucketed and flash with `<!-- made: NAME [ARGUMENTS] -->` and `<!-- end -->`, and what
benchmarks/model/document.py makes with `<!-- modelled: NAME -->`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import answer_times, copy_tables, record_tables
from benchmarks.bucketed import tables as bucketed_tables
from benchmarks.flash import tables as flash_tables
from benchmarks.markdown import table
from benchmarks.model import document as model_tables
from common.build.program import Target, build_program
from common.core.paths import REPOSITORY
from common.virtual_gpu.render import render_report
from common.virtual_gpu.session import run_program
from grader.actions.run import selected_checks
from tests.virtual_gpu.counters import comparison
from tests.virtual_gpu.counters.comparison import DIFFERENCES, FIGURES, RECORDED, Figure, expected, short_name
from tests.virtual_gpu.faults.corpus import Fault, all_faults

PAGES = (  # relative to the repository
    "README.md",
    *("docs/virtual-gpu.md", "docs/checks.md", "docs/counters.md", "docs/cost-model.md"),
    *("docs/bucketed-cache.md", "docs/flash-attention.md", "docs/times.md"),
    *("solutions/02_fused_copy/answers.md", "solutions/03_batched_copy/answers.md"),
)
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_MADE = re.compile(r"(<!-- made: ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)

# Launches that stand for their kind, and the figures worth a column.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a page is stale")
    check = parser.parse_args().check
    os.chdir(REPOSITORY)  # places in sample outputs are relative to it
    stale = [page for page in PAGES if (text := (REPOSITORY / page).read_text()) != remade(text)]
    for page in stale:
        print(f"{page} {'is stale: run python -m docs.make_tables' if check else 'rewritten'}")
        if not check:
            (REPOSITORY / page).write_text(remade((REPOSITORY / page).read_text()))
    return 1 if check and stale else 0


def remade(page: str) -> str:
    """The page with everything between its marks made anew."""
    return model_tables.remade(_MADE.sub(lambda mark: mark[1] + made(mark[2]) + mark[3], page))


def made(what: str) -> str:
    name, *arguments = what.split()
    return MAKERS[name](*arguments)


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
    """One paragraph a reason, with every launch it explains."""
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


def _sanitizer() -> dict[str, Any]:
    faults: dict[str, Any] = json.loads((REPOSITORY / "benchmarks" / "sanitizer_h200.json").read_text())[
        "faults"
    ]
    return faults


def _virtual(fault: Fault) -> str:
    if fault.wrong_result:
        return "wrong result"
    return f"{next(iter(fault.kinds))}, line {' or '.join(map(str, sorted(fault.lines)))}"


def _seen(entry: dict[str, Any], tool: str) -> str:
    if entry["skipped"]:
        return "not run"
    seen = entry[tool]
    if seen["timed_out"]:
        return "hangs"
    return "right line" if seen["right_line"] else "other line" if seen["reported"] else "–"


def sanitizer_table() -> str:
    entries = _sanitizer()
    rows = [
        [f"`{fault.name}`", _virtual(fault), *(_seen(entries[fault.name], tool) for tool in TOOLS)]
        for fault in all_faults()
    ]
    return table(["program", "virtual GPU", *TOOLS], rows, right_from=6)


def sanitizer_summary() -> str:
    entries = [_sanitizer()[fault.name] for fault in all_faults()]
    found = [fault for fault in all_faults() if not fault.wrong_result]
    ran = [entry for entry in entries if not entry["skipped"]]
    right = {tool: sum(entry[tool]["right_line"] for entry in ran) for tool in TOOLS}
    some = sum(any(entry[tool]["right_line"] for tool in TOOLS) for entry in ran)
    silent = sum(not any(entry[tool]["reported"] for tool in TOOLS) for entry in ran)
    stuck = sum(any(entry[tool]["timed_out"] for tool in TOOLS) for entry in ran)
    lucky = sum(entry["bare"]["result"] == "right" for entry in ran)
    rows = [
        ["programs", str(len(entries))],
        ["named by the virtual GPU, with kind and line", str(len(found))],
        ["shown by the virtual GPU as a wrong result", str(len(entries) - len(found))],
        ["run under compute-sanitizer (the others never end, or die in host code)", str(len(ran))],
        ["… of these, print the right result on the H200 all the same", str(lucky)],
        ["… right line by at least one tool", str(some)],
        *([f"… right line by {tool}", str(count)] for tool, count in right.items()),
        ["… nothing reported by any tool", str(silent)],
        ["… of these, hung until they were killed", str(stuck)],
    ]
    return table(["", "count"], rows)


def sample_output(source: str, *options: str) -> str:
    """What `./course run --device virtual` says about a program, less what the program itself prints."""
    only = options[options.index("--checks") + 1] if "--checks" in options else None
    built = build_program([Path(source)], Target.virtual())
    ran = run_program(
        built.path,
        options=selected_checks(only, []),
        timeout=60,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    command = " ".join(["./course run --device virtual", *options, source])
    return f"```text\n$ {command}\n{render_report(ran.report)}```\n"


MAKERS: dict[str, Callable[..., str]] = {
    "counter_samples": counter_samples,
    "counter_summary": counter_summary,
    "counter_differences": counter_differences,
    "counter_launches": counter_launches,
    "sanitizer_table": sanitizer_table,
    "sanitizer_summary": sanitizer_summary,
    "sample_output": sample_output,
    "waiting_times": answer_times.waiting_times,
    "answer_stages": answer_times.answer_stages,
    **copy_tables.MAKERS,
    **bucketed_tables.MAKERS,
    **flash_tables.MAKERS,
    **record_tables.MAKERS,
}


if __name__ == "__main__":
    sys.exit(main())
