"""Findings and leaks as a person reads them at a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from common.virtual_gpu.causes import Cause, by_cause
from common.virtual_gpu.finding import Dim3, Finding, Leak, Place
from common.virtual_gpu.report import Report

_KIND_WIDTH = 8
_DEFAULT_WIDTH = 110
_MOST_LEAKS = 10


def render_report(report: Report, *, width: int = _DEFAULT_WIDTH) -> str:
    """Findings, then notes and leaks; empty when there is nothing of it."""
    parts = [render_findings(report.findings, width=width)]
    if report.findings_dropped:
        parts.append(f"and {_times(report.findings_dropped)} more in places not listed\n")
    parts += [render_finding(note, width=width) for note in report.notes]
    parts.append(render_leaks(report.leaks, width=width))
    return "".join(parts)


def render_findings(findings: Sequence[Finding], *, width: int = _DEFAULT_WIDTH) -> str:
    """Causes, each with a line that names what follows from it."""
    return "".join(_cause(cause, width) for cause in by_cause(findings))


def _cause(cause: Cause, width: int) -> str:
    folded = effects_text(cause)
    below = _wrap(folded, " " * _KIND_WIDTH, width) if folded else ""
    return render_finding(cause.finding, width=width) + below


def effects_text(cause: Cause) -> str:
    """ "2 more findings follow from it: race at kernel.cu:41; init at kernel.cu:41."."""
    places: dict[str, dict[str, None]] = {}
    for effect in cause.effects:
        where = _named(effect.place[0]) if effect.place else ""
        places.setdefault(effect.kind, {})[where] = None
    listed = "; ".join(
        f"{kind} at {', '.join(filter(None, where))}" if any(where) else kind
        for kind, where in places.items()
    )
    count = len(cause.effects)
    noun = "finding follows" if count == 1 else "findings follow"
    return f"{count} more {noun} from it: {listed}." if count else ""


def render_finding(finding: Finding, *, width: int = _DEFAULT_WIDTH) -> str:
    """Kind, line and what happened; below it who did it, how often, and what to try."""
    first = f"{finding.kind:<{_KIND_WIDTH - 1}} "
    if finding.place:
        first += f"{finding.place[0]}   "
    headline = first + finding.message
    if finding.other and _named(finding.other[0]) not in finding.message:
        headline += f" ({finding.other[0]})"
    below = " ".join(
        part
        for part in (
            _actor(finding),
            _chain(finding.place),
            _chain(finding.other, "The other access was inlined at"),
            _allocated(finding),
            finding.advice,
        )
        if part
    )
    return _wrap(headline, "", width) + (_wrap(below, " " * _KIND_WIDTH, width) if below else "")


def render_leaks(leaks: Sequence[Leak], *, width: int = _DEFAULT_WIDTH) -> str:
    """The first few; ten allocations of a loop that never frees show as much as all of them."""
    text = "".join(render_leak(leak, width=width) for leak in leaks[:_MOST_LEAKS])
    rest = leaks[_MOST_LEAKS:]
    if rest:
        noun = "leak" if len(rest) == 1 else "leaks"
        text += f"and {len(rest)} more {noun} of {sum(leak.bytes for leak in rest):,} bytes together\n"
    return text


def render_leak(leak: Leak, *, width: int = _DEFAULT_WIDTH) -> str:
    """The line that allocated, and what was never freed."""
    first = f"{'leak':<{_KIND_WIDTH}}" + (f"{leak.place[0]}   " if leak.place else "")
    below = _chain(leak.place)
    headline = _wrap(f"{first}{leak.message} ({leak.bytes} bytes)", "", width)
    return headline + (_wrap(below, " " * _KIND_WIDTH, width) if below else "")


def _actor(finding: Finding) -> str:
    """ "kernel scale, block (7,0,0), thread (3,0,0), 96 times.\""""
    parts = []
    if finding.kernel:
        parts.append(f"kernel {_short(finding.kernel)}")
    if finding.block is not None:
        parts.append(f"block {_dim3(finding.block)}")
    if finding.thread is not None and f"thread {_dim3(finding.thread)}" not in finding.message:
        parts.append(f"thread {_dim3(finding.thread)}")
    if finding.count > 1:
        parts.append(_times(finding.count))
    return ", ".join(parts) + "." if parts else ""


def _chain(places: Sequence[Place], said: str = "Inlined at") -> str:
    """Where the helper that holds a line was called from."""
    if len(places) < 2:
        return ""
    return f"{said} " + ", ".join(str(place) for place in places[1:]) + "."


def _allocated(finding: Finding) -> str:
    """Where the program made the memory that the message names."""
    return f"{finding.allocation} was allocated at {finding.allocated_at[0]}." if finding.allocated_at else ""


def _named(place: Place) -> str:
    """A place as the engine's own sentences name it: without folders."""
    return f"{Path(place.file).name}:{place.line}"


def _short(kernel: str) -> str:
    """A kernel's name without its parameter list."""
    depth = 0
    for index, char in enumerate(kernel):
        depth += (char == "<") - (char == ">")
        if char == "(" and depth == 0 and index > 0:
            return kernel[:index]
    return kernel


def _dim3(dim: Dim3) -> str:
    return f"({dim[0]},{dim[1]},{dim[2]})"


def _times(count: int) -> str:
    return f"{count:,} time" if count == 1 else f"{count:,} times"


def _wrap(text: str, indent: str, width: int) -> str:
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=" " * _KIND_WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return "\n".join(lines) + "\n"
