"""What a run did, line by line in OUTPUT/run.jsonl: one line for its beginning, one for each submission.

The page on the run is made from it (`grade --html`). Marks do not depend on it: it may be deleted.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.classes.executor import Graded

NAME = "run.jsonl"


@dataclass(frozen=True)
class Row:
    """One submission: seconds in the queue and in the grading, and why earlier attempts gave no record."""

    student: str
    exercise: str
    verdict: str
    machine: str
    waited: float
    seconds: float
    lost: list[str]


@dataclass
class Run:
    """One run of the command. A run that was killed has fewer rows than it had tasks."""

    began: str
    tasks: int
    rows: list[Row] = field(default_factory=list)


class RunLog:
    """Writes the lines of one run, each at once: a run that is killed leaves what it did."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @staticmethod
    def begin(output: Path, tasks: int) -> RunLog:
        log = RunLog(output / NAME)
        log._write(
            {"began": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "tasks": tasks}
        )
        return log

    def add(self, one: Graded) -> None:
        submission = one.task.submission
        row = Row(
            submission.student,
            submission.exercise,
            one.record.verdict,
            one.machine,
            round(one.waited, 3),
            round(one.seconds, 3),
            list(one.lost),
        )
        self._write(asdict(row))

    def _write(self, line: dict[str, Any]) -> None:
        with open(self._path, "a", opener=_private) as file:
            file.write(json.dumps(line) + "\n")


def read_runs(output: Path) -> list[Run]:
    """The runs of a folder, oldest first. Lines that a full disk or a crash cut off are left out."""
    try:
        lines = (output / NAME).read_text(errors="replace").splitlines()
    except OSError:
        return []
    runs: list[Run] = []
    for line in lines:
        try:
            data = json.loads(line)
            if "began" in data:
                runs.append(Run(data["began"], data["tasks"]))
            elif runs:
                runs[-1].rows.append(Row(**data))
        except (ValueError, TypeError, KeyError):
            continue
    return runs


def slowest(rows: Sequence[Row], most: int) -> list[Row]:
    return sorted(rows, key=lambda row: row.seconds, reverse=True)[:most]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
