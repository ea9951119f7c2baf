"""The virtual GPU's findings over all cases, without repeats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from common.virtual_gpu.causes import by_cause, width
from common.virtual_gpu.report import Finding, Report
from grader.words import numbers

_Mistake = tuple[str, str, int, str]  # the second side without its template arguments


def _mistake(finding: Finding) -> _Mistake:
    other = str(finding.other[0]) if finding.other else ""
    return finding.kind, finding.file, finding.line, other


def besides(found: Sequence[Finding], known: Sequence[Finding]) -> list[Finding]:
    """Those of mistakes that are not known yet."""
    mistakes = set(map(_mistake, known))
    return [finding for finding in found if _mistake(finding) not in mistakes]


def plain(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """As a record holds them."""
    made: list[dict[str, Any]] = Report(findings=tuple(found)).to_dict()["findings"]
    return made


def in_words(found: Sequence[Finding]) -> str:
    """ "1 finding, race at kernel.cu:41; 2 more follow from it": counts causes, and names the first."""
    causes = by_cause(found)
    first, effects = causes[0].finding, len(found) - len(causes)
    counted = numbers.counted(len(causes), "finding, ", "findings, first ")
    place = f" at {Path(first.file).name}:{first.line}" if first.file else ""
    whom = "it" if len(causes) == 1 else "them"
    follow = f"; {numbers.counted(effects, 'more follows', 'more follow')} from {whom}" if effects else ""
    return f"{counted}{first.kind}{place}{follow}"


def merge(reports: Iterable[Report]) -> list[Finding]:
    """One finding for each mistake at each place, with all occurrences: of races the widest, and of the first
    case that showed it."""
    seen: dict[_Mistake, Finding] = {}
    for report in reports:
        for finding in report.findings:
            key = _mistake(finding)
            known = seen.get(key)
            count = finding.count + (known.count if known else 0)
            shown = known if known and width(known) <= width(finding) else finding
            seen[key] = dataclasses.replace(shown, count=count)
    return list(seen.values())
