"""The findings kept in a record, as the virtual GPU's own sentences."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.virtual_gpu.render import render_findings
from common.virtual_gpu.report import Finding, LineCounters, Place, Report
from grader.records.record import Record
from grader.render import traffic
from grader.words.text import harmless


def findings_of(record: Record) -> tuple[Finding, ...]:
    """As objects again, their files named without folders: where they lay says nothing."""
    findings = Report.from_dict({"findings": record.findings}).findings
    return tuple(_shortened(finding) for finding in findings)


def _shortened(finding: Finding) -> Finding:
    def short(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(dataclasses.replace(place, file=Path(place.file).name) for place in places)

    return dataclasses.replace(
        finding,
        place=short(finding.place),
        other=short(finding.other),
        allocated_at=short(finding.allocated_at),
    )


def findings_text(record: Record) -> str:
    return harmless(render_findings(findings_of(record)))


def decisive(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The compiler's errors, each with the notes behind it; or its warnings, if it built."""
    chosen: list[Mapping[str, Any]] = []
    severity = ""
    for item in items:
        severity = severity if item.get("severity") == "note" else str(item.get("severity"))
        if severity == "error":
            chosen.append(item)
    return chosen or list(items)


def diagnostic_text(item: Mapping[str, Any]) -> str:
    """One message of the compiler, with the file named without folders."""
    file = Path(str(item["file"])).name if item.get("file") else ""
    place = ":".join(str(part) for part in (file, item.get("line"), item.get("column")) if part)
    lines = [
        f"{place}: {item['severity']}: {item['message']}"
        if place
        else f"{item['severity']}: {item['message']}"
    ]
    lines += [f"    {text}" for text in item.get("context") or ()]
    if item.get("hint"):
        lines.append(f"    hint: {item['hint']}")
    return harmless("\n".join(lines))


def line_counters(record: Record, source_name: str = "kernel.cu") -> dict[int, Mapping[str, int]]:
    """Counters by line of the submission's own file."""
    own = [item for item in record.lines if Path(str(item["file"])).name == source_name]
    return _summed((int(item["line"]), item["counters"]) for item in own)


def counters_by_line(lines: Sequence[LineCounters], source: Path) -> dict[int, Mapping[str, int]]:
    """The same from a report."""
    own = [item for item in lines if Path(item.file).name == source.name]
    return _summed((item.line, dataclasses.asdict(item.counters)) for item in own)


def _summed(lines: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[int, Mapping[str, int]]:
    """Several launches may have run the same line."""
    total: dict[int, Counter[str]] = {}
    for line, counters in lines:
        plain = {name: count for name, count in counters.items() if isinstance(count, int)}
        plain |= {traffic.WGMMA + shape: count for shape, count in counters.get("wgmma_by_shape", {}).items()}
        total.setdefault(line, Counter()).update(plain)
    return dict(total)
