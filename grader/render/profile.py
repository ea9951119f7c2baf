"""The virtual GPU's counters of one call: launches, what limits them, and the source with its costs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.virtual_gpu.report import Launch, Report
from grader.render import traffic
from grader.render.findings import counters_by_line
from grader.words import numbers
from grader.words.text import harmless, table, wrapped

_NARROW = 72
_BESIDE = " " * 35  # the columns before a line's source
_CONTEXT = 1  # lines shown around one that costs something


def profile_text(report: Report, source: Path) -> str:
    if not report.launches:
        return "no kernel was launched in this call: there is nothing to count\n"
    lines = [line for launch in report.launches for line in launch.lines]
    sections = (
        launch_table(report.launches),
        "".join(_launch_text(launch) for launch in report.launches),
        source_table(source.read_text(errors="replace"), counters_by_line(lines, source)),
    )
    return "\n".join(section for section in sections if section)


def launch_table(launches: Sequence[Launch]) -> str:
    rows = [
        (
            numbers.short_kernel(launch.kernel),
            _dim3(launch.grid),
            _dim3(launch.block),
            str(launch.registers),
            numbers.size(launch.static_shared + launch.dynamic_shared),
            f"{launch.occupancy.fraction:.0%} ({launch.occupancy.limiter})",
            numbers.seconds(launch.modelled_seconds),
        )
        for launch in launches
    ]
    columns = ("kernel", "grid", "block", ">registers", ">shared", "occupancy (limit)", ">modelled, cold")
    return table(columns, rows)


def _launch_text(launch: Launch) -> str:
    """Traffic, then the model's bounds and the one that limits."""
    counts = launch.counters
    rows = [
        ("global loads", counts.global_load_requests, counts.load_sectors_per_request, "sectors/request"),
        ("global stores", counts.global_store_requests, counts.store_sectors_per_request, "sectors/request"),
        ("cp.async", counts.async_requests, counts.async_sectors_per_request, "sectors/request"),
        ("bulk loads", counts.bulk_load_requests, counts.bulk_load_sectors_per_request, "sectors/request"),
        ("bulk stores", counts.bulk_store_requests, counts.bulk_store_sectors_per_request, "sectors/request"),
        ("shared loads", counts.shared_load_requests, counts.shared_load_conflicts, "bank conflicts"),
        ("shared stores", counts.shared_store_requests, counts.shared_store_conflicts, "bank conflicts"),
    ]
    lines = [f"{numbers.short_kernel(launch.kernel)}:"]
    lines += [
        f"  {name:<14} {requests:>12,} {'requests' if requests != 1 else 'request'}, {each:,.4g} {unit}"
        for name, requests, each, unit in rows
        if requests
    ]
    for shape, count in counts.wgmma_by_shape.items():
        lines.append(f"  {'wgmma':<14} {count:>12,} {'warps' if count != 1 else 'warp'} × {shape}")
    lines.append(f"  {'active lanes':<14} {counts.active_lanes:>12.1f} of 32 on average")
    bounds = sorted(launch.cost.terms.items(), key=lambda item: -item[1])
    if bounds:
        listed = ", ".join(f"{name} {numbers.seconds(seconds)}" for name, seconds in bounds if seconds > 0)
        lines.append(wrapped(f"modelled bounds: {listed}", "  "))
    if launch.cost.sentence:
        lines.append(wrapped(launch.cost.sentence, "  "))
    return "\n".join(lines) + "\n"


def source_table(source: str, counts: Mapping[int, traffic.Counts]) -> str:
    """Lines with costs and their neighbours, with sectors, instructions and traffic beside them."""
    text = [harmless(line.expandtabs(4)) for line in source.split("\n")]
    wanted = {
        near
        for line, counters in counts.items()
        if traffic.instructions(counters) or traffic.sectors(counters)
        for near in range(line - _CONTEXT, line + _CONTEXT + 1)
        if 1 <= near <= len(text)
    }
    rows = ["  line      sectors  instructions  source"]
    before = 0
    for line in sorted(wanted):
        if before and line > before + 1:
            rows.append("     …")
        before = line
        cost = counts.get(line, {})
        figures = f"{_count(traffic.sectors(cost)):>12} {_count(traffic.instructions(cost)):>13}"
        first, *more = _folded(text[line - 1])
        rows.append(f"{line:>6} {figures}  {first}")
        rows += [f"{_BESIDE}{rest}" for rest in more]
        if words := traffic.words(cost):
            rows.append(f"{_BESIDE}^ {words}")
    return "\n".join(rows) + "\n" if wanted else ""


def _folded(code: str) -> list[str]:
    """A line of source in pieces of the table's width; what does not fit comes below it, indented as much."""
    indent = " " * min(len(code) - len(code.lstrip()) + 4, _NARROW // 2)
    return textwrap.wrap(code, _NARROW, subsequent_indent=indent, replace_whitespace=False) or [""]


def _count(value: int) -> str:
    return f"{value:,}" if value else ""


def _dim3(value: Sequence[int]) -> str:
    return "×".join(str(part) for part in value)
