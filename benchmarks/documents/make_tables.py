"""Writes the tables and sample outputs of PAGES from the committed measurements and real runs.

    python -m benchmarks.documents.make_tables            rewrite what has changed
    python -m benchmarks.documents.make_tables --check    name stale pages, and end with status 1

A page marks what is made here, in exercise_tables.py or in the tables.py of a subject with
`<!-- made: NAME [ARGUMENTS] -->` and `<!-- end -->`, and what benchmarks/model/document.py makes with
`<!-- modelled: NAME -->`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.bucketed import tables as bucketed_tables
from benchmarks.copies import tables as copy_tables
from benchmarks.documents import exercise_tables, points
from benchmarks.flash import tables as flash_tables
from benchmarks.hopper import tables as hopper_tables
from benchmarks.model import document as model_tables
from benchmarks.turnaround import answer_times
from benchmarks.virtual_gpu.counters import tables as counter_tables
from benchmarks.virtual_gpu.faults import tables as fault_tables
from benchmarks.virtual_gpu.hopper import tables as hopper_counter_tables
from common.build.program import Target, build_program
from common.core.paths import REPOSITORY
from common.virtual_gpu.render import render_report
from common.virtual_gpu.session import run_program
from grader.actions.run import selected_checks

PAGES = (  # relative to the repository
    "README.md",
    *("docs/virtual-gpu.md", "docs/checks.md", "docs/counters.md", "docs/cost-model.md"),
    *("docs/bucketed-cache.md", "docs/flash-attention.md", "docs/hopper-attention.md"),
    *("docs/grading.md", "docs/times.md"),
    *("solutions/02_fused_copy/answers.md", "solutions/03_batched_copy/answers.md"),
)
COMMAND = "python -m benchmarks.documents.make_tables"
_MADE = re.compile(r"(<!-- made: ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a page is stale")
    check = parser.parse_args().check
    os.chdir(REPOSITORY)  # paths in sample outputs are relative to it
    stale = {path: new for path in PAGES if (new := remade(old := Path(path).read_text())) != old}
    for path, text in stale.items():
        print(f"{path} {f'is stale: run {COMMAND}' if check else 'rewritten'}")
        if not check:
            Path(path).write_text(text)
    return 1 if check and stale else 0


def remade(page: str) -> str:
    """The page with everything between its marks made anew."""
    return model_tables.remade(_MADE.sub(lambda mark: mark[1] + made(mark[2]) + mark[3], page))


def made(what: str) -> str:
    name, *arguments = what.split()
    return MAKERS[name](*arguments)


def sample_output(source: str, *options: str) -> str:
    """The report of `./course run --device virtual` on a program, without the program's own output."""
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
    "sample_output": sample_output,
    "waiting_times": answer_times.waiting_times,
    "answer_stages": answer_times.answer_stages,
    **copy_tables.MAKERS,
    **counter_tables.MAKERS,
    **fault_tables.MAKERS,
    **hopper_counter_tables.MAKERS,
    **bucketed_tables.MAKERS,
    **flash_tables.MAKERS,
    **hopper_tables.MAKERS,
    **exercise_tables.MAKERS,
    **points.MAKERS,
}


if __name__ == "__main__":
    sys.exit(main())
