"""The virtual GPU's findings over all cases, without repeats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from common.virtual_gpu.report import Finding, Report


def merge(reports: Iterable[Report]) -> list[Finding]:
    """One finding for each mistake at each place: of the first case that showed it, with all occurrences."""
    seen: dict[tuple[str, str, int, str], Finding] = {}  # the second side without its template arguments
    for report in reports:
        for finding in report.findings:
            other = str(finding.other[0]) if finding.other else ""
            key = (finding.kind, finding.file, finding.line, other)
            if key in seen:
                count = seen[key].count + finding.count
                seen[key] = dataclasses.replace(seen[key], count=count)
            else:
                seen[key] = finding
    return list(seen.values())
