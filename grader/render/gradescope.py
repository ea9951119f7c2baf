"""One record as the results.json that Gradescope's autograder reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from grader.records.record import CaseResult, PartResult, Record
from grader.render.findings import diagnostic_text, findings_text
from grader.render.public import for_student, without_hidden_cases
from grader.render.terminal import speed_table
from grader.words.text import harmless

Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]  # to students


def write_results(record: Record, path: Path, remark: str = "", **shown: Any) -> None:
    path.write_text(json.dumps(results(record, remark, **shown), indent=1) + "\n")


def results(
    record: Record,
    remark: str = "",
    *,
    visibility: Visibility = "visible",
    hidden_cases: Visibility = "visible",
    leaderboard: bool = False,
) -> dict[str, Any]:
    """Points by part, and the cases with what was wrong; without the seed. Where hidden cases are shown less
    than the rest, the rest says nothing about them."""
    record = for_student(record)
    open_to_all = record if hidden_cases in ("visible", visibility) else without_hidden_cases(record)
    device = record.device
    cases = [_case(case, visibility if case.public else hidden_cases) for case in record.cases]
    return {
        "score": record.points,
        "output": "\n".join(filter(None, (harmless(record.verdict), f"graded on {device}", remark))),
        "output_format": "text",
        "execution_time": round(record.seconds),
        "visibility": visibility,
        "tests": [*(_part(open_to_all, part, visibility) for part in open_to_all.parts), *cases],
        **({"leaderboard": _leaderboard(record)} if leaderboard else {}),
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


def _leaderboard(record: Record) -> list[dict[str, Any]]:
    """The points, and the value of each target that was timed; more is better."""
    targets = record.speed.targets if record.speed is not None else []
    return [
        {"name": "points", "value": record.points},
        *({"name": target.name, "value": round(target.value, 3)} for target in targets if target.value > 0),
    ]


def _part(record: Record, part: PartResult, visibility: Visibility) -> dict[str, Any]:
    return {
        "name": part.name,
        "score": part.points,
        "max_score": part.max_points,
        "status": "passed" if part.points >= part.max_points else "failed",
        "output": part_text(record, part),
        "visibility": visibility,
    }


def _case(case: CaseResult, visibility: Visibility) -> dict[str, Any]:
    return {
        "name": f"{'public' if case.public else 'hidden'} case {case.label} ({case.sizes_in_words})",
        "status": "passed" if case.passed else "failed",
        "output": harmless(case.message or case.reason),
        "visibility": visibility,
    }
