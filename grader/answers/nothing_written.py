"""Why a call wrote nothing, as far as the virtual GPU's report shows it. Elsewhere the report is empty, and
nothing is said."""

from __future__ import annotations

from pathlib import Path

from common.virtual_gpu.report import Launch, LineCounters, Report
from grader.words import numbers


def why_nothing(report: Report, entry: str, output: str) -> str:
    """A sentence on what the call did instead of writing `output`: it launched nothing, its kernels came to
    no store, or they stored elsewhere."""
    if not report.profile:
        return ""
    if not report.launches:
        return (
            f"No kernel was launched: {entry}() returned before its launch. Look at the conditions there, "
            "and at the number of blocks"
        )
    stores = [line for launch in report.launches for line in launch.lines if _stores(line)]
    if stores:
        return f"What the kernel stores, at {_place(stores[-1])}, does not go to {output}: check that pointer"
    return _no_store(report.launches[-1], output)


def _no_store(launch: Launch, output: str) -> str:
    blocks, threads = (x * y * z for x, y, z in (launch.grid, launch.block))
    ran = (
        f"{numbers.short_kernel(launch.kernel)} ran in {numbers.counted(blocks, 'block')} of "
        f"{numbers.counted(threads, 'thread')}, and none came to a store to {output}"
    )
    conditions = [line for line in launch.lines if line.counters.branches]
    if conditions:
        last = max(conditions, key=lambda line: line.line)
        return (
            f"{ran}. The last condition that they met is at {_place(last)}: look at the values that it "
            "compares, and whether a table or a size is still 0"
        )
    if launch.lines:
        last = max(launch.lines, key=lambda line: line.line)
        return f"{ran}. The last line that ran is {_place(last)}: the store is still to be written"
    return f"{ran}: the store is still to be written"


def _stores(line: LineCounters) -> bool:
    return line.counters.global_store_requests + line.counters.global_atomic_requests > 0


def _place(line: LineCounters) -> str:
    return f"{Path(line.file).name}:{line.line}"
