"""Findings as notebooks show them: causes at their lines, with what follows from each folded below it."""

from __future__ import annotations

from collections.abc import Sequence

from common.virtual_gpu.causes import Cause, by_cause
from common.virtual_gpu.finding import Finding
from common.virtual_gpu.render import effects_text
from grader.notebook.views.display import cut, excerpt, limited
from grader.render.pages.markup import Markup, joined, tag
from grader.words import numbers

_MOST_WORDS = 1200


def findings_by_cause(findings: Sequence[Finding], source: str, most: int) -> Markup | None:
    """The first `most` causes at their lines, with what follows from each folded below it."""

    def shown(cause: Cause) -> Markup:
        summary = tag("summary", effects_text(cause))
        effects = [finding_at_its_line(effect, source) for effect in cause.effects[:most]]
        folded = tag("details", summary, *effects) if effects else None
        return joined((finding_at_its_line(cause.finding, source), folded))

    return limited(by_cause(findings), shown, most, "findings")


def finding_at_its_line(finding: Finding, source: str) -> Markup:
    line = f"line {finding.line}: " if finding.line else ""
    times = f" ({numbers.counted(finding.count, 'time')})" if finding.count > 1 else ""
    other = next((place for place in finding.other if place.line and place.line != finding.line), None)
    return joined(
        (
            tag("p", tag("span", f"{finding.kind} ", class_="bad"), line, _words(finding.message), times),
            excerpt(source, finding.line),
            tag("p", f"The other side is line {other.line}:") if other else None,
            excerpt(source, other.line, around=0) if other else None,
            tag("p", _words(finding.advice)) if finding.advice else None,
        )
    )


def _words(text: str) -> str:
    return cut(text, _MOST_WORDS)
