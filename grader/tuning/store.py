"""Studies on disk: every finished trial is a row of an SQLite file, written at once, so that a search can
continue however it was stopped."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from common.core.errors import CourseError
from grader.tuning.space import key
from grader.tuning.spec import Config

# Refused by a gate; failed to build, to run or to be right; stopped while it was timed; timed; timed and
# better than the best before it.
State = Literal["refused", "failed", "pruned", "measured", "promoted"]


@dataclass(frozen=True)
class Trial:
    """One configuration and its result."""

    config: Config
    state: State
    gate: str = ""  # the gate that refused it
    reason: str = ""  # a sentence
    built: bool = False
    seconds: float = 0.0  # the median
    low: float = 0.0
    high: float = 0.0
    samples: int = 0
    ratio: float = 0.0  # how many times as fast as the best before it
    registers: int = 0
    spilled: int = 0
    shared: int = 0
    occupancy: float = 0.0
    steps: Mapping[int, float] = field(default_factory=dict)  # the median after so many samples
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def timed(self) -> bool:
        return self.state in ("measured", "promoted")

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Trial:
        """Of `asdict`, also when it has been JSON."""
        known = {f.name: data[f.name] for f in fields(Trial) if f.name in data}
        return Trial(**{**known, "steps": {int(step): value for step, value in data["steps"].items()}})


_TABLE = """
CREATE TABLE IF NOT EXISTS trials (
    study TEXT NOT NULL, number INTEGER NOT NULL, config TEXT NOT NULL, trial TEXT NOT NULL,
    PRIMARY KEY (study, number), UNIQUE (study, config)
)
"""


class Store:
    """The trials of one study, in their order. A file may hold many studies, each by its name."""

    def __init__(self, path: Path, study: str) -> None:
        self.path, self.study = path, study
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path)
            with self._file:
                self._file.execute(_TABLE)
            rows = self._file.execute("SELECT trial FROM trials WHERE study = ? ORDER BY number", (study,))
            self.trials = [Trial.from_dict(json.loads(text)) for (text,) in rows]
        except (OSError, sqlite3.Error, ValueError, TypeError) as problem:
            raise CourseError(
                f"the study {path} cannot be used: {problem}. Name another file with --study, or delete it "
                "to start over"
            ) from problem

    def add(self, trial: Trial) -> None:
        row = (self.study, len(self.trials), key(trial.config), json.dumps(asdict(trial)))
        try:
            with self._file:
                self._file.execute("INSERT INTO trials VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as problem:
            raise CourseError(
                f"another search writes into {self.path}: wait for it, or name another file with --study"
            ) from problem
        except sqlite3.Error as problem:
            raise CourseError(f"the study {self.path} cannot be written: {problem}") from problem
        self.trials.append(trial)

    def close(self) -> None:
        self._file.close()

    @property
    def best(self) -> Trial | None:
        """The last promoted trial: every promotion beats the one before."""
        return next((trial for trial in reversed(self.trials) if trial.state == "promoted"), None)

    @property
    def tried(self) -> int:
        """How many were built. Those refused before a build cost nothing and are not counted."""
        return sum(trial.built for trial in self.trials)

    def refused(self, gates: Sequence[str]) -> dict[str, int]:
        """How many each gate refused."""
        return {gate: sum(trial.gate == gate for trial in self.trials) for gate in gates}

    def fastest(self, count: int) -> list[Trial]:
        """The best first, then the others by time."""
        others = sorted((t for t in self.trials if t.timed and t is not self.best), key=lambda t: t.seconds)
        return ([self.best] if self.best else []) + others[: count - (self.best is not None)]
