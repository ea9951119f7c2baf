"""A record at the terminal: the first failure, the findings, the times and the points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grader.records.record import CaseResult, Record, Speed
from grader.render.findings import decisive, diagnostic_text, findings_text
from grader.render.speed_rows import speed_rows
from grader.words import numbers
from grader.words.text import harmless, one_line, table, wrapped

_MOST_OUTPUT_LINES = 20
_MOST_DIAGNOSTICS = 8
_HOW = {"cold": "one call, cold L2", "graph": "in a graph", "host": "the host's time"}  # by protocol


def class_table(records: Sequence[Record], remark: str = "") -> str:
    """One row per submission."""
    rows = [
        (
            record.submission,
            record.exercise or "unknown",
            numbers.points(record.points),
            numbers.points(record.max_points),
            record.verdict,
            speed_words(record.speed),
            one_line("; ".join(record.flags), 60),
            f"{record.seconds:.1f} s",
        )
        for record in records
    ]
    columns = ("submission", "exercise", ">points", ">of", "verdict", "speed", "flags", ">took")
    flagged = any(record.flags for record in records)
    shown = [index for index, column in enumerate(columns) if flagged or column != "flags"]
    return table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows]) + (
        f"{remark}\n" if remark else ""
    )


def speed_words(speed: Speed | None) -> str:
    """The first target's value: "1.52 x (modelled)"."""
    if speed is None or not speed.targets:
        return "–"
    target = speed.targets[0]
    return f"{numbers.ratio(target.value)}{' (modelled)' if speed.modelled else ''}"


def summary(record: Record, remark: str = "") -> str:
    """The whole report on one submission."""
    name, device = one_line(record.submission), record.device
    sections = (
        f"{name}, {record.exercise}, on {device}: {one_line(record.verdict, 400)}\n",
        diagnostics(record.diagnostics),
        case_table(record),
        left_out(record),
        sampled_only(record),
        failures(record),
        findings_text(record),
        mechanisms(record),
        speed_table(record),
        printed(record),
        points_table(record),
        "".join(f"for a person to look at: {one_line(flag)}\n" for flag in record.flags),
        f"{remark}\n" if remark else "",
    )
    return "\n".join(section for section in sections if section)


def diagnostics(items: Sequence[Mapping[str, Any]]) -> str:
    """What the compiler said of what it refused, or its warnings if it built."""
    chosen = decisive(items)
    text = "".join(diagnostic_text(item) + "\n" for item in chosen[:_MOST_DIAGNOSTICS])
    rest = len(chosen) - _MOST_DIAGNOSTICS
    return text + (f"and {rest} more of the compiler's messages\n" if rest > 0 else "")


def case_table(record: Record) -> str:
    """One row per case, without its sizes: the first failure shows them."""
    rows = [
        (
            case.label,
            "public" if case.public else "hidden",
            "passed" if case.passed else "failed",
            case.reason,
            numbers.seconds(case.seconds),
        )
        for case in record.cases
    ]
    return table(("case", "kind", "result", "reason", ">took"), rows) if rows else ""


def steps_table(record: Record, steps: Sequence[str]) -> str:
    """The results of the exercise's steps in order; empty for one without steps."""
    parts = {part.name: part for part in record.parts}
    rows = [
        (
            str(number),
            name,
            "done" if parts[name].points >= parts[name].max_points else "open",
            numbers.points_of(parts[name].points, parts[name].max_points),
            parts[name].message,
        )
        for number, name in enumerate(steps, 1)
        if name in parts
    ]
    return table((">step", "what", "state", ">points", "~why"), rows) if rows else ""


def case_count(record: Record) -> str:
    """ "26 cases passed in 3.1 s", and how many did not."""
    if not record.cases:
        return ""
    passed = sum(case.passed for case in record.cases)
    failed = len(record.cases) - passed
    took = numbers.seconds(sum(case.seconds for case in record.cases))
    more = f", {failed} failed" if failed else ""
    return f"{numbers.counted(passed, 'case')} passed{more} in {took}\n"


def left_out(record: Record) -> str:
    """Cases that this device cannot run, so that they do not seem to have passed."""
    if not record.left_out:
        return ""
    needs = "case needs a GPU and was" if len(record.left_out) == 1 else "cases need a GPU and were"
    return f"{len(record.left_out)} {needs} not run: {'; '.join(map(one_line, record.left_out))}\n"


def sampled_only(record: Record) -> str:
    """Kernels of which the virtual GPU saw no call whole."""
    if not record.sampled_only:
        return ""
    launches = [launch for size in record.large_sizes for launch in size["launches"]]
    ended = {launch["kernel"] for launch in launches if launch["finished"]}
    names = ", ".join(
        one_line(numbers.short_kernel(name)) + ("" if name in ended else " (the beginning of each alone)")
        for name in record.sampled_only
    )
    return f"checked in sampled blocks only, at sizes that need a GPU: {names}\n"


def failures(record: Record) -> str:
    """The first failing case in full: the others usually fail for the same reason."""
    first = next((case for case in record.cases if not case.passed), None)
    return "" if first is None else failure(first)


def failure(case: CaseResult) -> str:
    return f"{case.label} ({case.sizes_in_words}):\n{wrapped(case.message or case.reason, '  ')}\n"


def mechanisms(record: Record) -> str:
    return "".join(
        f"{'seen   ' if item.passed else 'MISSING'}  {item.name}"
        + (f": {one_line(item.message, 400)}" if item.message else "")
        + "\n"
        for item in record.mechanisms
    )


def speed_table(record: Record, *, plain: bool = False) -> str:
    if record.speed is None:
        return ""
    speed = record.speed
    if not speed.cases:
        return "".join(f"speed: {wrapped(note)}\n" for note in speed.notes)
    how = how_timed([case.protocol for case in speed.cases])
    label = f"{'modelled' if speed.modelled else 'measured'}, {how}"
    return table(*speed_rows(speed), f"speed, {label}", plain=plain) + "".join(_target_lines(speed))


def how_timed(protocols: Iterable[str]) -> str:
    """ "one call, cold L2", "in a graph", or both."""
    return " and ".join(_HOW[protocol] for protocol in dict.fromkeys(protocols))


def _target_lines(speed: Speed) -> Iterable[str]:
    for target in speed.targets:
        wanted = f"passing {target.passing:.2f}, full marks {target.full:.2f}"
        message = f": {one_line(target.message, 400)}" if target.message else ""
        yield f"{target.decision:<9}  {target.name} {target.value:.2f} ({wanted}){message}\n"
    if speed.copy_bandwidth:
        yield f"a plain copy reaches {numbers.bandwidth(speed.copy_bandwidth)} here\n"
    yield from (f"{one_line(note, 400)}\n" for note in speed.notes)


def printed(record: Record) -> str:
    if not record.output.strip():
        return ""
    lines = harmless(record.output).splitlines()
    rest = len(lines) - _MOST_OUTPUT_LINES
    cut = f"  … {numbers.counted(rest, 'more line')}\n" if rest > 0 else ""
    return "it printed:\n" + "".join(f"  {line[:200]}\n" for line in lines[:_MOST_OUTPUT_LINES]) + cut


def points_table(record: Record) -> str:
    rows = [
        (
            part.name,
            numbers.points(part.points),
            numbers.points(part.max_points),
            part.message,
        )
        for part in record.parts
    ]
    rows.append(("total", numbers.points(record.points), numbers.points(record.max_points), record.verdict))
    return table(("part", ">points", ">of", "~why"), rows)
