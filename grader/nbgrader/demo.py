"""A small demo class, from release to feedback, for an instructor's first ten minutes."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.progress import Notify
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import Graded, autograde, handed_in, make_assignments
from grader.nbgrader.exchange import fetch, submit
from grader.nbgrader.kernels import class_run
from grader.pipeline.grading import grade
from grader.questions.measured import Measured, measure, timed
from grader.records.device_info import DeviceInfo
from grader.spec import Exercise

_MARKER = ".demo-class"
_LATE_PERCENT = 10.0
_LEAVES_AT_ONCE = """
#include <cstdlib>
// Ends the process that loads this library, and says that all went well.
__attribute__((constructor)) static void leave() { std::_Exit(0); }
"""
_RAISES_EVERY_GRADE = """
import sqlite3
book = sqlite3.connect("../../../gradebook.db")
book.execute("update grade set manual_score = 100")
book.commit()
"""


@dataclass(frozen=True)
class DemoStudent:
    """A demo student: changes the notebook and kernel.cu between fetching and submitting."""

    name: str
    does: str
    kernel: Callable[[Exercise], str]
    notebook: Callable[[dict[str, Any], Exercise, Measured], dict[str, Any] | str]
    days_late: int = 0


def _solution(exercise: Exercise) -> str:
    return exercise.solution.read_text()


def _answered(share: float, answer: str) -> Callable[..., dict[str, Any]]:
    """The first `share` of the predictions with their true values, the rest doubled."""

    def fill(notebook: dict[str, Any], exercise: Exercise, counted: Measured) -> dict[str, Any]:
        values = list(counted.values.items())
        right = round(share * len(values))
        lines = [f'    "{name}": {v if i < right else 2 * v:.6g},\n' for i, (name, v) in enumerate(values)]
        for cell in notebook["cells"]:
            about = cell["metadata"].get("nbgrader", {})
            if about.get("grade_id") == "predictions" and values:
                cell["source"] = f"predictions = {{\n{''.join(lines)}}}"
            elif about.get("solution") and about.get("grade") and answer:
                cell["source"] = answer
        return notebook

    return fill


def _hostile(notebook: dict[str, Any], exercise: Exercise, counted: Measured) -> dict[str, Any]:
    """Deletes the graded cells, and tries to change the gradebook."""
    kept = [cell for cell in notebook["cells"] if not cell["metadata"].get("nbgrader", {}).get("grade")]
    for cell in kept:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "predictions":
            cell["source"] = _RAISES_EVERY_GRADE
    return {**notebook, "cells": kept}


DEMO_STUDENTS = (
    DemoStudent("ada", "everything right", _solution, _answered(1.0, "Because the trips overlap.")),
    DemoStudent(
        "ben",
        "right, but not faster than the baseline; half of the predictions",
        lambda exercise: exercise.baseline.read_text(),
        _answered(0.5, "It is faster, I think."),
    ),
    DemoStudent(
        "cleo",
        "only the starter",
        lambda exercise: exercise.starter.read_text(),
        _answered(0.3, ""),
    ),
    DemoStudent(
        "dan",
        "hostile: a library that ends its loader, deleted cells, SQL for the gradebook",
        lambda exercise: _LEAVES_AT_ONCE + exercise.baseline.read_text(),
        _hostile,
    ),
    DemoStudent(
        "eva",
        "right and two days late, with a notebook cut off in the middle",
        _solution,
        lambda notebook, exercise, counted: json.dumps(notebook)[:2000],
        days_late=2,
    ),
)


def make_demo_class(root: Path, exercise: Exercise, *, device: str, notify: Notify) -> list[Graded]:
    """Make the class below `root`, which must be missing or an earlier demo, which is replaced."""
    folder = ClassFolder(root.absolute())
    _make_room(folder)
    run = class_run(folder, device=device)
    notify("releasing")
    make_assignments(folder, [exercise.id])
    with nbgrader_functions(folder) as functions:
        due = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(days=1)
        with functions.gradebook as gradebook:
            gradebook.update_or_create_assignment(exercise.id, duedate=due.isoformat(" ", "seconds"))
            for one in DEMO_STUDENTS:  # without names formgrader lists them as "None, None"
                gradebook.update_or_create_student(one.name, first_name=one.name.title(), last_name="Demo")
        must_succeed("the release", functions.release_assignment(exercise.id))
        notify("counting the predicted quantities")
        counted = _to_predict(exercise, run.device)
        for one in DEMO_STUDENTS:
            notify(f"{one.name} fetches and submits")
            _take_part(functions, one, exercise, counted, folder.root / "students" / one.name)
        notify("collecting")
        must_succeed("collecting", functions.collect(exercise.id))
        for one in DEMO_STUDENTS:
            if one.days_late:
                _date(folder, one, exercise, due)
    graded = autograde(folder, run, handed_in(folder, [exercise.id]))
    notify("writing feedback")
    with nbgrader_functions(folder) as functions:
        must_succeed("feedback", functions.generate_feedback(exercise.id))
        must_succeed("the release of feedback", functions.release_feedback(exercise.id))
    return graded


def _to_predict(exercise: Exercise, device: DeviceInfo) -> Measured:
    """The true values of the predictions. A GPU's clock is used only where grading will use it, too."""
    counted = measure(exercise, exercise.solution)
    if device.modelled:
        return counted
    record = grade(exercise, exercise.solution, submission="solution", device=device)
    return counted | timed(exercise, record.speed)


def feedback_pages(root: Path, exercise: Exercise) -> list[Path]:
    return sorted((root / "feedback").glob(f"*/{exercise.id}/*.html"))


def _make_room(folder: ClassFolder) -> None:
    if folder.root.exists() and any(folder.root.iterdir()):
        if not (folder.root / _MARKER).exists():
            raise CourseError(f"{folder.root} exists already and is not a demo class: name another folder")
        shutil.rmtree(folder.root)
    folder.prepare()
    (folder.root / _MARKER).write_text("./course demo-class replaces this folder.\n")
    config = folder.root / "nbgrader_config.py"
    line = re.compile(r"^# c\.LatePerDay\.percent = \d+", re.MULTILINE)
    config.write_text(line.sub(f"c.LatePerDay.percent = {_LATE_PERCENT:g}", config.read_text()))


def _take_part(functions: Any, one: DemoStudent, exercise: Exercise, counted: Measured, home: Path) -> None:
    place = fetch(functions, one.name, exercise.id, home)
    notebook = place / f"{exercise.id}.ipynb"
    made = one.notebook(json.loads(notebook.read_text()), exercise, counted)
    notebook.write_text(made if isinstance(made, str) else json.dumps(made, indent=1))
    (place / "kernel.cu").write_text(one.kernel(exercise))
    submit(functions, one.name, exercise.id, home)


def _date(folder: ClassFolder, one: DemoStudent, exercise: Exercise, due: datetime.datetime) -> None:
    """Set a later time of submission."""
    handed_in_at = due + datetime.timedelta(days=one.days_late, minutes=-5)
    stamp = folder.handed_in(one.name, exercise.id) / "timestamp.txt"
    stamp.write_text(f"{handed_in_at:%Y-%m-%d %H:%M:%S} UTC")
