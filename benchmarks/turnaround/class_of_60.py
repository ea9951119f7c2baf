"""A class of 60 through nbgrader, killed once and resumed: how long a submission takes, and is any lost?

    python -m benchmarks.turnaround.class_of_60 [FOLDER]

Submissions cycle through exercise 01's solution, its variants, its baseline and its starter, each with its
own comment, so that no two are equal. The result goes to benchmarks/data/turnaround/class_of_60.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import DATA
from common.build.engine.build import build_engine
from common.core.paths import REPOSITORY
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import make_assignments
from grader.spec import Exercise, registry

STUDENTS = 60
KILLED_AFTER = 25  # kernels
RESULT = DATA / "turnaround" / "class_of_60.json"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="for the class (default: a temporary one)")
    parser.add_argument("--students", type=int, default=STUDENTS)
    options = parser.parse_args(arguments)
    root = options.folder or Path(tempfile.mkdtemp(prefix="class-of-60-"))
    exercise = registry.find("01")
    folder = ClassFolder(root.absolute())
    build_engine()
    make_assignments(folder, [exercise.id])
    hand_in(folder, exercise, options.students)
    killed_after = min(KILLED_AFTER, options.students // 2)
    first = run(folder, until=lambda: len(records(folder, exercise)) >= killed_after)
    kept = {path: path.stat().st_mtime_ns for path in records(folder, exercise)}
    second = run(folder)
    result = judged(
        folder, exercise, options.students, kept, first["seconds"], second["seconds"], second["graded"]
    )
    print(json.dumps(result, indent=1))
    if options.students == STUDENTS:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["lost"] == result["graded_twice"] == result["without_points"] == 0 else 1


def hand_in(folder: ClassFolder, exercise: Exercise, students: int) -> None:
    kernels = [exercise.solution, *exercise.variants(), exercise.baseline, exercise.starter]
    released = folder.release / exercise.id / f"{exercise.id}.ipynb"
    for number in range(students):
        place = folder.handed_in(f"student{number:02}", exercise.id)
        place.mkdir(parents=True)
        shutil.copyfile(released, place / released.name)
        text = kernels[number % len(kernels)].read_text()
        (place / "kernel.cu").write_text(f"{text}\n// handed in by student {number}\n")


def run(folder: ClassFolder, until: Callable[[], bool] | None = None) -> dict[str, Any]:
    """`./course nbgrader autograde --all`, to its end or killed when `until()` holds."""
    started = time.monotonic()
    command = [sys.executable, "-m", "grader", "nbgrader", "--class", str(folder.root), "autograde", "--all"]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [*command, "--json", "--device", "virtual"], cwd=REPOSITORY, stdout=said, start_new_session=True
        )
        while process.poll() is None:
            if until is not None and until():
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.05)
        said.seek(0)
        graded = [] if until is not None else json.load(said)
    return {"seconds": time.monotonic() - started, "graded": graded}


def records(folder: ClassFolder, exercise: Exercise) -> list[Path]:
    """Those that are complete, with the key that is written after them."""
    keys = (folder.grades / "records" / exercise.id / ".keys").glob("*")
    return [key.parent.parent / f"{key.name}.json" for key in keys]


def judged(
    folder: ClassFolder,
    exercise: Exercise,
    students: int,
    kept: dict[Path, int],
    first: float,
    second: float,
    graded: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "students": students,
        "exercise": exercise.id,
        "cpus": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "date": datetime.date.today().isoformat(),
        "killed_after_records": len(kept),
        "seconds_until_killed": round(first, 1),
        "seconds_after": round(second, 1),
        "seconds_a_submission": round((first + second) / students, 2),
        "lost": students - len(records(folder, exercise)),
        "graded_twice": sum(path.stat().st_mtime_ns != when for path, when in kept.items()),
        "without_points": students - sum(not row["problem"] for row in graded),
        "full_marks": sum(row["kernel_points"] == exercise.max_points for row in graded),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
