"""`./course list`: the exercises, their points, and how far you have come."""

from __future__ import annotations

import json
from typing import Any

from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.spec import Exercise, registry
from grader.words import numbers
from grader.words.text import table


def main(arguments: list[str]) -> int:
    parser = Parser("./course list", __doc__)
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    entries = [_entry(exercise) for exercise in registry.all_exercises()]
    if options.json:
        print(json.dumps(entries, indent=1))
        return 0
    rows = [
        (
            entry["number"],
            entry["title"],
            numbers.points(entry["points"]),
            "yes" if entry["started"] else "no",
            _last_words(entry["last_check"]),
        )
        for entry in entries
    ]
    print(table(("NN", "exercise", ">points", "started", "last check"), rows), end="")
    print("`./course start NN` starts one, `./course check NN` checks it.")
    return 0


def _entry(exercise: Exercise) -> dict[str, Any]:
    return {
        "number": exercise.number,
        "exercise": exercise.id,
        "title": exercise.title,
        "points": exercise.max_points,
        "started": student.has_begun(exercise),
        "last_check": student.read_state(exercise, "check"),
    }


def _last_words(check: dict[str, Any]) -> str:
    if not check:
        return "–"
    earned = numbers.points_of(float(check.get("points", 0)), float(check.get("max_points", 0)))
    return f"{check.get('verdict', '')}, {earned} on {check.get('device', '')}, {check.get('when', '')}"
