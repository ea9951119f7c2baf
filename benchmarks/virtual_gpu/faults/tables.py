"""The tables of docs/checks.md: faulty programs on the virtual GPU and under compute-sanitizer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.output.markdown import table
from benchmarks.virtual_gpu.faults.corpus import RECORD, Fault, all_faults
from benchmarks.virtual_gpu.hopper_faults import corpus as hopper

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


# Which programs, and what was recorded of them.
_NEWER = "newer than the record"
_CORPORA = {"usual": (all_faults, RECORD), "hopper": (hopper.hopper_faults, hopper.RECORD)}


def _recorded(which: str) -> list[tuple[Fault, dict[str, Any]]]:
    faults, path = _CORPORA[which]
    entries = json.loads(path.read_text())["faults"]
    newer: dict[str, Any] = {"skipped": _NEWER}
    return [(fault, entries.get(fault.name, newer)) for fault in faults()]


def _virtual(fault: Fault) -> str:
    if fault.wrong_result:
        return "wrong result"
    return f"{next(iter(fault.kinds))}, line {' or '.join(map(str, sorted(fault.lines)))}"


def _seen(entry: dict[str, Any], tool: str) -> str:
    if entry["skipped"]:
        return "not run"
    seen = entry[tool]
    if seen["timed_out"]:
        return "hangs"
    return "right line" if seen["right_line"] else "other line" if seen["reported"] else "–"


def sanitizer_table(which: str = "usual") -> str:
    rows = [
        [f"`{fault.name}`", _virtual(fault), *(_seen(entry, tool) for tool in TOOLS)]
        for fault, entry in _recorded(which)
    ]
    return table(["program", "virtual GPU", *TOOLS], rows, right_from=6)


def sanitizer_summary(which: str = "usual") -> str:
    entries = [entry for _, entry in _recorded(which)]
    found = [fault for fault, _ in _recorded(which) if not fault.wrong_result]
    ran = [entry for entry in entries if not entry["skipped"]]
    right = {tool: sum(entry[tool]["right_line"] for entry in ran) for tool in TOOLS}
    some = sum(any(entry[tool]["right_line"] for tool in TOOLS) for entry in ran)
    silent = sum(not any(entry[tool]["reported"] for tool in TOOLS) for entry in ran)
    stuck = sum(any(entry[tool]["timed_out"] for tool in TOOLS) for entry in ran)
    lucky = sum(entry["bare"]["result"] == "right" for entry in ran)
    newer = sum(entry["skipped"] == _NEWER for entry in entries)
    others = "never end, or die in host code" + (f"; {newer} are newer than that run" if newer else "")
    rows = [
        ["programs", str(len(entries))],
        ["named by the virtual GPU, with kind and line", str(len(found))],
        ["shown by the virtual GPU as a wrong result", str(len(entries) - len(found))],
        [f"run under compute-sanitizer (the others {others})", str(len(ran))],
        ["… of these, print the right result on the H200", str(lucky)],
        ["… right line by at least one tool", str(some)],
        *([f"… right line by {tool}", str(count)] for tool, count in right.items()),
        ["… nothing reported by any tool", str(silent)],
        ["… of these, hung until they were killed", str(stuck)],
    ]
    return table(["", "count"], rows)


MAKERS: dict[str, Callable[..., str]] = {
    "sanitizer_table": sanitizer_table,
    "sanitizer_summary": sanitizer_summary,
}
