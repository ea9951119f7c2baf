"""One record as the results.json that Gradescope's autograder reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.records.record import CaseResult, PartResult, Record
from grader.render.findings import diagnostic_text, findings_text
from grader.render.public import for_student
from grader.render.terminal import speed_table
from grader.words.text import harmless


def write_results(record: Record, path: Path, remark: str = "") -> None:
    path.write_text(json.dumps(results(record, remark), indent=1) + "\n")


def results(record: Record, remark: str = "") -> dict[str, Any]:
    """Points by part, and the cases with what was wrong; without the seed."""
    record = for_student(record)
    device = record.device
    return {
        "score": record.points,
        "output": "\n".join(filter(None, (harmless(record.verdict), f"graded on {device}", remark))),
        "output_format": "text",
        "execution_time": round(record.seconds),
        "visibility": "visible",
        "tests": [*(_part(record, part) for part in record.parts), *map(_case, record.cases)],
        "extra_data": {
            "exercise": record.exercise,
            "device": record.device.kind,
            "max_points": record.max_points,
        },
    }


def part_text(record: Record, part: PartResult) -> str:
    """The reason for a part's points, with its details."""
    more = {
        "correct": "\n".join(diagnostic_text(item) for item in record.diagnostics),
        "clean": findings_text(record),
        "mechanism": "\n".join(f"{m.name}: {m.message or 'seen'}" for m in record.mechanisms),
        "speed": speed_table(record, plain=True),
    }
    return harmless("\n".join(filter(None, (part.message, more.get(part.name, "")))))


def _part(record: Record, part: PartResult) -> dict[str, Any]:
    return {
        "name": part.name,
        "score": part.points,
        "max_score": part.max_points,
        "status": "passed" if part.points >= part.max_points else "failed",
        "output": part_text(record, part),
        "visibility": "visible",
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "name": f"{'public' if case.public else 'hidden'} case {case.label} ({case.sizes_in_words})",
        "status": "passed" if case.passed else "failed",
        "output": harmless(case.message or case.reason),
        "visibility": "visible",
    }
