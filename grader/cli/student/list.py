"""`./course list`: the exercises, their points, and how far you have come."""

from __future__ import annotations

import json
from typing import Any

from common.core.paths import REPOSITORY
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
            numbers.points(entry["notebook_points"]) if entry["notebook_points"] else "–",
            "yes" if entry["started"] else "no",
            _last_words(entry["last_check"]),
        )
        for entry in entries
    ]
    print(
        table(("NN", "exercise", ">kernel", ">notebook", "started", "last check of kernel.cu"), rows), end=""
    )
    print(
        "Points: `kernel` is what kernel.cu can earn, and `./course check NN` shows; `notebook` is what the "
        "notebook\ncan earn in all: the kernel, predictions and questions."
    )
    print("`./course start NN` starts one, `./course check NN` checks it.")
    return 0


def _entry(exercise: Exercise) -> dict[str, Any]:
    return {
        "number": exercise.number,
        "exercise": exercise.id,
        "title": exercise.title,
        "points": exercise.max_points,
        "notebook_points": notebook_points(exercise),
        "started": student.has_begun(exercise),
        "last_check": student.read_state(exercise, "check"),
    }


def notebook_points(exercise: Exercise) -> float:
    """The points of all graded cells of the exercise's notebook; 0 without one."""
    try:
        cells = json.loads((REPOSITORY / "notebooks" / exercise.id / f"{exercise.id}.ipynb").read_text())[
            "cells"
        ]
    except OSError:
        return 0.0
    graded = (cell["metadata"].get("nbgrader", {}) for cell in cells)
    return sum(float(marks["points"]) for marks in graded if marks.get("grade"))


def _last_words(check: dict[str, Any]) -> str:
    if not check:
        return "–"
    earned = numbers.points_of(float(check.get("points", 0)), float(check.get("max_points", 0)))
    return f"{check.get('verdict', '')}, {earned} on {check.get('device', '')}, {check.get('when', '')}"
