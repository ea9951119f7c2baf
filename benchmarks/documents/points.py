"""The points of every implementation that the repository holds, for the table in docs/grading.md.

    python -m benchmarks.documents.points            grade all of them on the virtual GPU: some minutes
    python -m benchmarks.documents.points --only 05  those of one exercise
    python -m benchmarks.documents.points --changed  those whose text is another than when they were graded

A row is a file, or a file with some edits: 05's levels are its solution, which launches an earlier level as
the whole. `benchmarks/data/points.json` keeps the results and a hash of what was graded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import DATA
from benchmarks.output.markdown import table
from common.core.paths import REPOSITORY
from grader.pipeline.grading import grade
from grader.records.device_info import VIRTUAL
from grader.records.record import Record
from grader.spec import registry

RESULTS = DATA / "points.json"
_SEED = "points"


@dataclass(frozen=True)
class Row:
    """`edit` replaces a text wherever it stands in the file."""

    exercise: str
    name: str
    file: str
    edit: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        text = (REPOSITORY / self.file).read_text()
        if self.edit is None:
            return text
        before, after = self.edit
        assert before in text, f"{self.file} has no {before!r} to edit"
        return text.replace(before, after)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


_VARIANTS = {
    "01_kv_store": {
        "one copy loop with `__restrict__`": "restrict_only",
        "registers, no cp.async": "register_staged",
        "a launch for K and one for V": "two_launches",
        "cp.async as PTX": "inline_ptx",
        "a warp per head": "heads_in_parallel",
    },
    "02_fused_copy": {
        "a thread per element": "thread_per_element",
        "a warp per row": "warp_vectorised",
        "pointers in an array": "sizes_in_an_array",
    },
    "03_batched_copy": {
        "contiguous copies only": "contiguous",
        "a thread per element": "strided",
        "seven streams, joined": "streams_joined",
    },
}
_LEVELS = {
    "scores in registers as the whole (step 3)": "InRegisters",
    "with cp.async (step 4)": "Asynchronous",
    "with two stages (step 5)": "Ahead",
}
_WHOLE = "Swizzled>(job, PERSISTENT"


def rows() -> list[Row]:
    """Of each exercise: starter, baseline, variants, levels, reference."""
    found = []
    for exercise in registry.all_exercises():
        here = f"exercises/{exercise.id}"
        solutions = f"solutions/{exercise.id}"
        found += [Row(exercise.id, "the starter", f"{here}/kernel.cu")]
        found += [Row(exercise.id, "the baseline", f"{here}/baseline.cu")]
        variants = _VARIANTS.get(exercise.id, {})
        found += [Row(exercise.id, name, f"{solutions}/{file}.cu") for name, file in variants.items()]
        if exercise.id == "05_flash_attention":
            found += [
                Row(exercise.id, name, f"{solutions}/kernel.cu", (_WHOLE, f"{level}>(job, false"))
                for name, level in _LEVELS.items()
            ]
        found += [Row(exercise.id, "the reference", f"{solutions}/kernel.cu")]
    return found


def graded(row: Row) -> dict[str, Any]:
    exercise = registry.find(row.exercise)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.cu"
        source.write_text(row.text)
        record = grade(exercise, source, submission=row.name, device=VIRTUAL, seed=_SEED)
    return {
        "exercise": row.exercise,
        "name": row.name,
        "sha256": row.sha256,
        "points": record.points,
        "max_points": record.max_points,
        "lost": _lost(record),
    }


def _lost(record: Record) -> dict[str, float]:
    lost = {part.name: round(part.max_points - part.points, 2) for part in record.parts}
    return {name: points for name, points in lost.items() if points > 0}


def results() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text())
    return found


def points_of_implementations() -> str:
    return table(
        ["exercise", "implementation", "loses", "points"],
        [
            [
                row["exercise"][:2],
                row["name"],
                ", ".join(f"{name} {lost:g}" for name, lost in row["lost"].items()) or "nothing",
                f"{row['points']:g}",
            ]
            for row in results()
        ],
        right_from=3,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.documents.points")
    parser.add_argument("--only", default="", metavar="NN", help="grade this exercise's, keep the others")
    parser.add_argument("--changed", action="store_true", help="grade those whose text has changed")
    arguments = parser.parse_args()
    kept = {(row["exercise"], row["name"]): row for row in results()} if RESULTS.is_file() else {}
    made = []
    for row in rows():
        before = kept.get((row.exercise, row.name))
        is_changed = before is not None and before["sha256"] != row.sha256
        new = is_changed if arguments.changed else row.exercise.startswith(arguments.only)
        made.append(graded(row) if new or before is None else before)
        print(f"{row.exercise}, {row.name}: {made[-1]['points']:g}", flush=True)
    RESULTS.write_text(json.dumps(made, indent=1) + "\n")


MAKERS: dict[str, Callable[..., str]] = {"points_of_implementations": points_of_implementations}


if __name__ == "__main__":
    main()
