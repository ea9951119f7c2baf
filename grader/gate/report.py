"""A gate's report: a table for the terminal, and the same with all measurements as Markdown and JSON."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_json, write_whole
from grader.gate.measured import Free, Measured, Taken, Times
from grader.gate.spec import Gate
from grader.gate.verdict import Verdict
from grader.records.device_info import DeviceInfo
from grader.spec import Exercise
from grader.words import numbers
from grader.words.markdown import markdown_table
from grader.words.text import table, wrapped

VERSION = 1
_COLUMNS = ("criterion", "wanted", "seen", "verdict")
_CONFIGURATIONS = ("configuration", "registers", "shared memory", "spilled", "time", "")


@dataclass(frozen=True)
class Report:
    """One judged file."""

    exercise: Exercise
    gate: Gate
    source: str  # its shown name
    device: DeviceInfo
    measured: Measured
    verdict: Verdict

    @property
    def title(self) -> str:
        names = f"{self.gate.proposed} against {self.gate.replaced}"
        return f"{names} at {self.gate.case.name}: {self.how}"

    @property
    def how(self) -> str:
        modelled = self.measured.times.modelled
        return "times modelled by the virtual GPU, not measured" if modelled else "times measured interleaved"

    def rows(self) -> list[tuple[str, ...]]:
        return [(one.name, one.wanted, one.finding.seen, one.finding.state) for one in self.verdict.criteria]


def terminal(report: Report) -> str:
    parts = [table(_COLUMNS, report.rows(), report.title)]
    parts += [wrapped(reason) for reason in report.verdict.reasons]
    parts += ["", table(_CONFIGURATIONS, _configurations(report), "what the limits cost")]
    parts.append(wrapped(report.verdict.headline))
    return "\n".join(parts)


def _configurations(report: Report) -> list[tuple[str, ...]]:
    measured = report.measured
    gated = ("as it stands", *_taken(measured.taken), _time(measured.times), "")
    return [gated, _free_row(measured.free)]


def _taken(taken: Taken) -> tuple[str, str, str]:
    if taken.lack:
        return "–", "–", "–"
    spilled = numbers.size(taken.spilled) if taken.spilled else "none"
    return str(taken.registers), numbers.size(taken.shared), spilled


def _time(times: Times) -> str:
    return "–" if times.lack else numbers.seconds(times.my_median)


def _free_row(free: Free) -> tuple[str, ...]:
    name = " ".join(f"{name}={value}" for name, value in free.defines.items()) or "free"
    if free.lack:
        return name, "–", "–", "–", "–", f"not measured: {free.lack}"
    if free.times.lack:
        return name, *_taken(free.taken), "–", f"not measured: {free.times.lack}"
    over = numbers.ratio(free.times.their_median / free.times.my_median)
    return name, *_taken(free.taken), _time(free.times), f"{over} as fast as it stands"


def markdown(report: Report) -> str:
    device = report.device
    about = [f"compiler {device.compiler}"] + ([f"driver {device.driver}"] if device.driver else [])
    where = f"{report.source} on {device}, {', '.join(about)}"
    lines = [f"# {report.exercise.id}: {report.verdict.headline}", "", f"{where}. {report.title}.", ""]
    lines += markdown_table(_COLUMNS, report.rows())
    if report.verdict.reasons:
        lines += ["", "## Reasons", "", *(f"- {reason}" for reason in report.verdict.reasons)]
    lines += ["", "## What the limits cost", "", *markdown_table(_CONFIGURATIONS, _configurations(report))]
    lines += ["", "## Errors by case", ""]
    lines += markdown_table(
        ("case", "relative error of a row"),
        [(one.case, one.problem or f"{one.error:.2g}") for one in report.measured.errors],
    )
    lines += _counters(report)
    if notes := [note for note in report.measured.times.notes if note]:
        lines += ["", "## How it was timed", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def _counters(report: Report) -> list[str]:
    counters = report.measured.counters
    if not counters.theirs:
        return []
    columns = ("counter", report.gate.replaced, report.gate.proposed)
    rows = [
        (name, f"{value:,.6g}", f"{counters.mine[name]:,.6g}")
        for name, value in counters.theirs.items()
        if name in counters.mine
    ]
    return ["", "## Counters of one call", "", *markdown_table(columns, rows)]


def plain(report: Report, source: bytes) -> dict[str, Any]:
    """Everything, as data."""
    return {
        "version": VERSION,
        "exercise": report.exercise.id,
        "source": report.source,
        "source_sha256": hashlib.sha256(source).hexdigest(),
        "device": dataclasses.asdict(report.device),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "case": {"name": report.gate.case.name, "sizes": dict(report.gate.case.sizes)},
        "keep": report.verdict.keep,
        "verdict": report.verdict.headline,
        "criteria": [
            {"name": one.name, "wanted": one.wanted, "needed": one.needed, **vars(one.finding)}
            for one in report.verdict.criteria
        ],
        "measured": _finite(dataclasses.asdict(report.measured)),
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity: an infinite error becomes null."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(report: Report, data: Mapping[str, Any], folder: Path, stem: str) -> Path:
    """Write both files, each atomically; returns the path of the Markdown."""
    try:
        write_json(folder / f"{stem}.json", data)
        write_whole(folder / f"{stem}.md", markdown(report))
    except OSError as problem:
        raise CourseError(
            f"the report cannot be written: {problem}. Name another folder with --output"
        ) from problem
    return folder / f"{stem}.md"
