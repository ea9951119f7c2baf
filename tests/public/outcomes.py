"""What came of a program, in one of a few words, from its report and the way it ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CLEAN, FINDINGS, REFUSED = "runs clean", "findings", "refused"
NOT_BUILT, FAILED, TIMED_OUT, LIMIT = "does not build", "fails", "out of time", "stopped at the time limit"
OUTCOMES = (CLEAN, FINDINGS, REFUSED, NOT_BUILT, FAILED, TIMED_OUT, LIMIT)
_NOT_SUPPORTED = re.compile(r"(\w+) is not supported here|the virtual GPU does not implement (.*)")
_ERROR = re.compile(r"(fatal error|error|undefined reference|cannot find|No rule to make)\b.*", re.IGNORECASE)
_ABSENT = re.compile(r"the virtual GPU has none of these libraries.*?: [^.]*")
_COURSE_NOT_STARTED = 125
_MOST_WORDS = 160


@dataclass(frozen=True)
class Outcome:
    name: str
    outcome: str
    what: str = ""
    build_seconds: float = 0.0
    run_seconds: float = 0.0


def judge_build(output: str) -> tuple[str, str]:
    """Why it does not build: a library that is not here, else the first line that is an error."""
    if absent := _ABSENT.search(output):
        return NOT_BUILT, _short(absent[0])
    line = next((found[0] for text in output.splitlines() if (found := _ERROR.search(text))), "")
    return NOT_BUILT, _short(line or (output.strip().splitlines() or ["no output"])[-1])


def judge_run(status: int | None, output: str, report: Mapping[str, Any]) -> tuple[str, str]:
    """`status` is None where the program was killed for its time; `report` is empty where it wrote none."""
    if status is None:
        return TIMED_OUT, _last_line(output)
    findings = report.get("findings", [])
    kinds = Counter(finding["kind"] for finding in findings)
    said = "\n".join([*(finding["message"] for finding in findings), *report.get("messages", []), output])
    if refused := _NOT_SUPPORTED.search(said):
        return REFUSED, _short(refused[1] or refused[2])
    if "limit" in kinds:
        return LIMIT, _short(next(one["message"] for one in findings if one["kind"] == "limit"))
    if kinds:
        listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return FINDINGS, _short(f"{listed}: {_place(findings[0])} {findings[0]['message']}")
    if status == _COURSE_NOT_STARTED:
        return judge_build(output)
    return (CLEAN, "") if status == 0 else (FAILED, _short(f"status {status}: {_last_line(output)}"))


def table(outcomes: Sequence[Outcome]) -> str:
    """As Markdown: how many of each, then every program."""
    counts = Counter(one.outcome for one in outcomes)
    lines = ["| outcome | programs |", "|---|--:|"]
    lines += [f"| {name} | {counts[name]} |" for name in OUTCOMES if counts[name]]
    lines += [f"| all | {len(outcomes)} |", ""]
    lines += ["| program | outcome | what | build (s) | run (s) |", "|---|---|---|--:|--:|"]
    for one in outcomes:
        what = one.what.replace("|", "\\|")
        times = f"{one.build_seconds:.1f} | {one.run_seconds:.1f}"
        lines.append(f"| {one.name} | {one.outcome} | {what} | {times} |")
    return "\n".join(lines) + "\n"


def _place(finding: Mapping[str, Any]) -> str:
    place = (finding.get("place") or [{}])[0]
    file = str(finding.get("file") or place.get("file") or "").rpartition("/")[2]
    return f"{file}:{finding.get('line') or place.get('line')}" if file else ""


def _last_line(output: str) -> str:
    """That the program itself has written."""
    lines = [line for line in output.strip().splitlines() if not line.startswith("make: ")]
    return lines[-1] if lines else "no output"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_WORDS else f"{text[: _MOST_WORDS - 1]}…"
