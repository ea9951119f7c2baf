"""Points of a class into its gradebook: how long 1,500 submissions take besides the grading of their kernels.

    python -m benchmarks.turnaround.points [--students N] [--profile FILE] [FOLDER]

Each student hands in five exercises: the solution or the starter, with numbers for predictions and a sentence
for each question. Every kernel is graded once before, really; what is timed is `autograde` with these
records, from the submitted folders to committed points and graded notebooks, and then with nothing to do.
The records stay in FOLDER for the next time. The result goes to benchmarks/data/turnaround/points.json.
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import DATA
from common.build.engine.build import build_engine
from common.core.files import write_json
from grader.classes.class_run import ClassRun, grade_all
from grader.classes.executor import Graded, Task
from grader.classes.progress import RunProgress
from grader.classes.submissions import KERNEL, Submission
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import autograde, handed_in, make_assignments
from grader.nbgrader.kernels import class_run
from grader.records.record import Record
from grader.spec import Exercise, registry

STUDENTS = 300
EXERCISES = 5  # the first ones
RESULT = DATA / "turnaround" / "points.json"
_VERSIONS = ("nbgrader", "SQLAlchemy", "nbconvert", "nbformat")
_SOLVED, _STARTED = "solution", "starter"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="(default: a temporary one)")
    parser.add_argument("--students", type=int, default=STUDENTS)
    parser.add_argument("--profile", type=Path, help="write cProfile's table of the first run there")
    options = parser.parse_args(arguments)
    root = (options.folder or Path(tempfile.mkdtemp(prefix="points-"))).absolute()
    exercises = registry.all_exercises()[:EXERCISES]
    records = graded_once(root / "graded", exercises)
    shutil.rmtree(root / "class", ignore_errors=True)
    folder = ClassFolder(root / "class")
    names = [one.id for one in exercises]
    make_assignments(folder, names)
    hand_in(folder, exercises, options.students)
    run = dataclasses.replace(class_run(folder, device="virtual"), executor=AtHand(records))
    profile = cProfile.Profile() if options.profile else None
    first = timed(folder, run, names, profile)
    if profile:
        profile.dump_stats(options.profile)
    result = {
        "submissions": options.students * len(names),
        "exercises": len(names),
        "written": first,
        "nothing_to_do": timed(folder, run, names),
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {_processor()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in _VERSIONS},
    }
    print(json.dumps(result, indent=1))
    if options.students == STUDENTS and profile is None:
        write_json(RESULT, result)
    return 0


@dataclass(frozen=True)
class AtHand:
    """Grades nothing: a submission gets a copy of the record of the kernel that it begins with."""

    records: Mapping[tuple[str, str], Record]

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[Graded, None, None]:
        for task in tasks:
            name = task.submission.student
            record = self.records[task.submission.exercise, _kind(int(name.removeprefix("student")))]
            yield Graded(task, dataclasses.replace(record, submission=name, source=task.data.decode()))


def graded_once(output: Path, exercises: Sequence[Exercise]) -> dict[tuple[str, str], Record]:
    """By exercise and kind of kernel."""
    build_engine()
    run = dataclasses.replace(class_run(ClassFolder(output), device="virtual"), output=output)
    wanted = {
        (one.id, kind): Submission(kind, one.id, _kernel(one, kind))
        for one in exercises
        for kind in (_SOLVED, _STARTED)
    }
    return dict(zip(wanted, grade_all(run, list(wanted.values())), strict=True))


def hand_in(folder: ClassFolder, exercises: Sequence[Exercise], students: int) -> None:
    for exercise in exercises:
        released = json.loads(folder.released(exercise.id).read_text())
        for number in range(students):
            place = folder.handed_in(f"student{number:04}", exercise.id)
            place.mkdir(parents=True)
            kernel = _kernel(exercise, _kind(number)).read_text()
            (place / KERNEL).write_text(f"{kernel}\n// handed in by student {number}\n")
            notebook = {**released, "cells": [_answered(cell, number) for cell in released["cells"]]}
            (place / f"{exercise.id}.ipynb").write_text(json.dumps(notebook, indent=1))


def timed(
    folder: ClassFolder, run: ClassRun, names: Sequence[str], profile: cProfile.Profile | None = None
) -> dict[str, float]:
    submissions = handed_in(folder, names)
    wall, cpu = time.monotonic(), _cpu_seconds()
    with profile or nullcontext():
        graded = autograde(folder, run, submissions)
    seconds = {"seconds": round(time.monotonic() - wall, 1), "cpu_seconds": round(_cpu_seconds() - cpu, 1)}
    assert len(graded) == len(submissions)
    assert not [one.problem for one in graded if one.problem]
    return seconds


def _answered(cell: dict[str, Any], number: int) -> dict[str, Any]:
    about = cell["metadata"].get("nbgrader", {})
    if not about.get("solution"):
        return cell
    if cell["cell_type"] == "code":
        return {**cell, "source": "".join(cell["source"]).replace("...", str(number % 7))}
    return {**cell, "source": f"Because every warp of student {number} loads whole sectors, $n = {number}$."}


def _kernel(exercise: Exercise, kind: str) -> Path:
    return exercise.solution if kind == _SOLVED else exercise.starter


def _kind(number: int) -> str:
    return _STARTED if number % 3 == 0 else _SOLVED


def _cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
