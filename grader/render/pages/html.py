"""One self-contained page per submission: verdict, points, cases, findings, speed, annotated source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.records.record import CaseResult, Record, Speed
from grader.render import traffic
from grader.render.findings import diagnostic_text, findings_of, findings_text, line_counters
from grader.render.pages import plots
from grader.render.pages.markup import Child, Markup, page, table, tag
from grader.render.public import for_student
from grader.render.speed_rows import speed_rows
from grader.words import numbers

_DECISIONS = {"met": "good", "missed": "bad", "undecided": "doubt"}
_MOST_LINES = 6000


def submission_page(record: Record, remark: str = "") -> str:
    """The page of one record. It holds no seed, and text from the submission is escaped."""
    record = for_student(record)
    full = record.max_points > 0 and record.points >= record.max_points
    earned = f"{numbers.points_of(record.points, record.max_points)} points"
    sections: tuple[tuple[str, Child], ...] = (
        ("Points", _points(record)),
        ("Compiler", _block(diagnostic_text(item) for item in record.diagnostics)),
        ("Cases", cases_table(record.cases)),
        ("Findings", _block([findings_text(record)]) if record.findings else None),
        ("Mechanisms", mechanisms_table(record)),
        ("Speed", _speed(record)),
        ("Launches", launches_table(record)),
        ("What it printed", _block([record.output]) if record.output.strip() else None),
        ("Source", annotated_source(record)),
    )
    return page(
        f"{record.submission}, {record.exercise}",
        tag("h1", f"{record.submission}, {record.exercise or 'unknown exercise'}"),
        tag("p", tag("span", record.verdict, class_="good" if full else "bad"), f" · {earned}"),
        tag("p", _about(record), class_="faint"),
        tag("p", remark, class_="doubt") if remark else None,
        *(part for title, body in sections if body for part in (tag("h2", title), body)),
    )


def _about(record: Record) -> str:
    device = record.device
    facts = (
        f"graded on {device}",
        f"driver {record.device.driver}" if record.device.driver else "",
        record.device.compiler,
        record.started,
        f"{record.seconds:.1f} s" if record.seconds else "",
        f"SHA-256 {record.source_sha256[:16]}…" if record.source_sha256 else "",
    )
    return " · ".join(fact for fact in facts if fact)


def _points(record: Record) -> Markup:
    rows = [(p.name, numbers.points(p.points), numbers.points(p.max_points), p.message) for p in record.parts]
    rows.append(("total", numbers.points(record.points), numbers.points(record.max_points), ""))
    return table(("part", ">points", ">of", "why"), rows)


def _block(texts: Iterable[str]) -> Markup | None:
    text = "\n".join(texts)
    return tag("pre", text) if text.strip() else None


def cases_table(cases: Sequence[CaseResult]) -> Markup | None:
    """With the sizes that differ from those that most cases share, which the last row shows."""
    usual = numbers.usual_sizes([case.sizes for case in cases if not case.shape])
    rows: list[tuple[Child, ...]] = [
        (
            case.label,
            "public" if case.public else "hidden",
            case.shape or numbers.sizes(case.sizes, usual),
            _passed(case.passed),
            _why(case),
        )
        for case in cases
    ]
    if usual:
        rows.append(("the usual sizes", "", numbers.sizes(usual), "", ""))
    return table(("case", "kind", "sizes", "result", "why"), rows) if rows else None


def _why(case: CaseResult) -> str:
    if not case.reason or case.message.startswith(case.reason):
        return case.message
    return f"{case.reason}: {case.message}" if case.message else case.reason


def _passed(passed: bool) -> Markup:
    return tag("span", "passed", class_="good") if passed else tag("span", "failed", class_="bad")


def mechanisms_table(record: Record) -> Markup | None:
    rows = [(item.name, _passed(item.passed), item.message) for item in record.mechanisms]
    return table(("mechanism", "result", "what was seen"), rows) if rows else None


def _speed(record: Record) -> Markup | None:
    speed = record.speed
    if speed is None or not speed.cases:
        return None
    return tag(
        "div",
        tag("p", speed_label(speed)),
        targets_table(speed),
        plots.speedups(speed),
        plots.bandwidths(speed),
        speeds_table(speed),
    )


def speed_label(speed: Speed) -> str:
    label = "Modelled by the virtual GPU, not measured." if speed.modelled else "Measured."
    return " ".join((label, *speed.notes))


def targets_table(speed: Speed) -> Markup | None:
    rows = [
        (
            target.name,
            tag("span", target.decision, class_=_DECISIONS.get(target.decision, "doubt")),
            f"{target.value:.2f}",
            f"{target.passing:.2f}",
            f"{target.full:.2f}",
            target.message,
        )
        for target in speed.targets
    ]
    return table(("target", "decision", ">value", ">pass mark", ">full marks", "why"), rows) if rows else None


def speeds_table(speed: Speed) -> Markup:
    return table(*speed_rows(speed))


def launches_table(record: Record) -> Markup | None:
    rows = [
        (
            numbers.short_kernel(str(launch.get("kernel", ""))),
            _dim3(launch.get("grid")),
            _dim3(launch.get("block")),
            f"{launch.get('registers', 0)}",
            _occupancy(launch.get("occupancy") or {}),
            traffic.words(launch.get("counters") or {}),
        )
        for launch in record.launches
    ]
    return table(("kernel", "grid", "block", ">registers", "occupancy", "traffic"), rows) if rows else None


def _dim3(value: Sequence[int] | None) -> str:
    return " × ".join(f"{part:,}" for part in value) if value else ""


def _occupancy(value: Mapping[str, object]) -> str:
    fraction = value.get("fraction")
    if not isinstance(fraction, int | float):
        return ""
    return f"{fraction:.0%}" + (f", limited by {value['limiter']}" if value.get("limiter") else "")


def annotated_source(record: Record) -> Markup | None:
    """Each line with its cost as a colour, its traffic beside it and its findings below it."""
    if not record.source.strip():
        return None
    counts = line_counters(record)
    warmth = traffic.heat(counts)
    found: dict[int, list[str]] = {}
    for finding in findings_of(record):
        found.setdefault(finding.line, []).append(f"{finding.kind}: {finding.message}")
    rows: list[Markup] = []
    for number, line in enumerate(record.source.split("\n")[:_MOST_LINES], 1):
        heat = f"background: rgba(var(--heat), {0.45 * warmth.get(number, 0.0):.3f})"
        rows.append(
            tag(
                "tr",
                tag("td", str(number), class_="number faint"),
                tag("td", line.expandtabs(4), class_="code", style=heat),
                tag("td", traffic.words(counts.get(number, {})), class_="note"),
            )
        )
        rows += [
            tag("tr", tag("td"), tag("td", message, class_="note found", colspan=2))
            for message in found.get(number, ())
        ]
    legend = "Redder lines request more 32-byte sectors or run more instructions; × is sectors per request."
    return tag("div", tag("p", legend, class_="faint") if counts else None, _source_table(rows))


def _source_table(rows: Sequence[Markup]) -> Markup:
    return tag("div", tag("table", tag("tbody", *rows), class_="source"), class_="wide")
