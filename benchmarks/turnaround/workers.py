"""Submissions per minute of a machine, by how many are graded at once.

    python -m benchmarks.turnaround.workers [--at-once 1 2 4 …]

Grades classes of 01's solution, each file with a line of its own so that all are compiled: five for each of
those graded at once, and at least six. The virtual GPU is built before. The result goes to
benchmarks/data/turnaround/workers.json.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import DATA
from common.build.engine.build import build_engine
from common.core.files import write_json
from common.core.paths import REPOSITORY
from grader.spec import registry

RESULT = DATA / "turnaround" / "workers.json"
EXERCISE = "01"


def main() -> None:
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__)
    powers = [1 << power for power in range(cpus.bit_length())]
    parser.add_argument("--at-once", type=int, nargs="+", default=powers, metavar="N")
    build_engine()
    rows = [measured(number) for number in parser.parse_args().at_once]
    for row in rows:
        print(row)
    write_json(RESULT, {"machine": platform.machine(), "cpus": cpus, "exercise": EXERCISE, "rows": rows})


def measured(at_once: int) -> dict[str, float]:
    count = max(6, 5 * at_once)
    solution = registry.find(EXERCISE).solution.read_text()
    with tempfile.TemporaryDirectory() as folder:
        students = Path(folder, "class")
        for number in range(count):
            file = students / f"student{number:03}" / "kernel.cu"
            file.parent.mkdir(parents=True)
            file.write_text(f"{solution}// {number}, {at_once} at once\n")
        began = time.monotonic()
        command = [sys.executable, "-m", "grader", "grade", str(students), "--exercise", EXERCISE]
        command += ["--device", "virtual", "--jobs", str(at_once), "--output", f"{folder}/grades"]
        subprocess.run(command, cwd=REPOSITORY, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        seconds = time.monotonic() - began
    return {
        "at_once": at_once,
        "submissions": count,
        "seconds": round(seconds, 1),
        "per_minute": round(60 * count / seconds, 1),
    }


if __name__ == "__main__":
    main()
