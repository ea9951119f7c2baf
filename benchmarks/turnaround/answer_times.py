"""How long a student waits for `./course check` after an edit, on this machine.

    python -m benchmarks.turnaround.answer_times [--checkout DIR] [--python PYTHON] [--label WORD] [NN …]

Three edits of each exercise, each by one line, so that the build cache has none of the file: the
solution with one more comment (right), the starter with one more comment (its first case fails), and the
solution with a line that does not compile. Measured are the time to the first line about the kernel, and to
the end. The CPU time is that of the command and all its processes; a separate run, because sampling takes
time too, splits it by program. A printed line marks the end of each stage of a right kernel's answer. A
checkout of another version can be measured in the same run; the results go to
benchmarks/data/turnaround/answer_times.json, under their label.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import DATA
from benchmarks.output.markdown import table
from benchmarks.turnaround.cpu_by_program import KINDS, CpuByProgram
from common.core.paths import REPOSITORY

RESULTS = DATA / "turnaround" / "answer_times.json"
# By the line that ends a stage. The device's name and progress lines are not about the kernel.
_STAGES: dict[str | None, re.Pattern[str]] = {
    "started": re.compile(r"device: "),
    "built": re.compile(r"built in "),
    None: re.compile(r"(building |checking |\s*$)"),
    "first_line": re.compile(""),
}
_EDITS = {
    "right": ("solutions", "// edit {mark}\n"),
    "first case fails": ("exercises", "// edit {mark}\n"),
    "does not compile": ("solutions", "int edit_{mark} = unknown;\n"),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="NN")
    parser.add_argument("--checkout", type=Path, default=REPOSITORY)
    parser.add_argument("--python", help="for COURSE_PYTHON")
    parser.add_argument("--label", default="after")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is taken")
    options = parser.parse_args(arguments)
    folders = sorted(path.name for path in (options.checkout / "exercises").glob("0*"))
    found: dict[str, Any] = {}
    for folder in folders:
        if options.exercises and folder[:2] not in options.exercises:
            continue
        _one(options, folder, "right")  # fills the caches with all but the student's file
        found[folder] = {name: _measured(options, folder, name) for name in _EDITS}
        found[folder]["programs"] = _rounded(_one(options, folder, "right", split=True), *KINDS)
        print(folder, json.dumps(found[folder]), flush=True)
    _write(options.label, found)
    return 0


def _measured(options: argparse.Namespace, folder: str, edit: str) -> dict[str, float]:
    rounds = [_one(options, folder, edit) for _ in range(options.rounds)]
    return _rounded({key: statistics.median(one[key] for one in rounds) for key in rounds[0]}, *rounds[0])


def _rounded(found: dict[str, float], *keys: str) -> dict[str, float]:
    return {key: round(found[key], 2) for key in keys}


def _one(options: argparse.Namespace, folder: str, edit: str, *, split: bool = False) -> dict[str, float]:
    place, line = _EDITS[edit]
    text = (options.checkout / place / folder / "kernel.cu").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "kernel.cu"
        file.write_text(text + line.format(mark=time.time_ns()))
        environment = {**os.environ, **({"COURSE_PYTHON": options.python} if options.python else {})}
        cpu, started = os.times(), time.monotonic()
        process = subprocess.Popen(
            ["./course", "check", folder[:2], str(file), "--device", "virtual"],
            cwd=options.checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        watched = CpuByProgram(process.pid) if split else None
        times: dict[str, float] = {}
        for said in process.stdout:
            stage = next(stage for stage, line in _STAGES.items() if line.match(said))
            if stage is not None:
                times.setdefault(stage, time.monotonic() - started)
        process.wait()
        times["whole"] = time.monotonic() - started
    spent = os.times()
    times["cpu"] = (spent.children_user + spent.children_system) - (cpu.children_user + cpu.children_system)
    times.setdefault("first_line", times["whole"])
    return {**times, **(watched.seconds(times["cpu"]) if watched else {})}


def waiting_times() -> str:
    """The committed results of both versions as a table, for docs/times.md."""
    columns = ("exercise", "compile error", "first failing case", "right, whole answer", "right, CPU time")
    rows = [
        (
            folder,
            _both(folder, "does not compile", "first_line"),
            _both(folder, "first case fails", "first_line"),
            _both(folder, "right", "whole"),
            _both(folder, "right", "cpu"),
        )
        for folder in _measurements("after")
    ]
    return table(columns, rows)


def answer_stages() -> str:
    """Where the time of a right kernel's answer goes: when each stage ends, and CPU time by program."""
    columns = ("exercise", "started", "built", "first result", "whole", *(f"{kind}, CPU" for kind in KINDS))
    rows = [
        (
            folder,
            *(f"{found['right'][stage]:.1f}" for stage in ("started", "built", "first_line", "whole")),
            *(_both(folder, "programs", kind) for kind in KINDS),
        )
        for folder, found in _measurements("after").items()
    ]
    return table(columns, rows)


def _both(folder: str, edit: str, key: str) -> str:
    """Before and after; an exercise that is newer than the first measurement has no time before."""
    before, after = (_measurements(label).get(folder) for label in ("before", "after"))
    assert after is not None
    then = f"{before[edit][key]:.1f} → " if before is not None else ""
    return f"{then}**{after[edit][key]:.1f}**"


def _measurements(label: str) -> dict[str, Any]:
    """By exercise."""
    seconds: dict[str, Any] = json.loads(RESULTS.read_text())[label]["seconds"]
    return seconds


def _write(label: str, found: dict[str, Any]) -> None:
    data = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    data[label] = {
        "machine": f"{os.cpu_count()} cores, {_cpu()}",
        "date": datetime.date.today().isoformat(),
        "seconds": {**data.get(label, {}).get("seconds", {}), **found},
    }
    RESULTS.write_text(json.dumps(data, indent=1) + "\n")


def _cpu() -> str:
    try:
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        names = []
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
