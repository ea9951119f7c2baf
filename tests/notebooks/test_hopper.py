"""Notebook 06 runs from the first cell to the last with the starter, what is counted on the solution earns
every point of its predictions, and its times are those that were measured."""

from __future__ import annotations

import ast
import json
import re
import resource
from pathlib import Path
from typing import Any

import pytest

from common.build.engine.build import build_engine
from common.core.paths import REPOSITORY
from grader.lab.lab import find_lab
from grader.questions.grading import grade
from grader.questions.measured import measure
from grader.records.device_info import VIRTUAL, DeviceInfo
from grader.spec import registry
from tests.notebooks.sources import (
    NOTEBOOKS,
    Cell,
    cells_of,
    execute,
    html_of,
    read,
    text_of,
    text_shown,
    working_copy,
)

pytest.importorskip("nbformat")
pytest.importorskip("nbclient")

NAME = "06_hopper_attention"
NOTEBOOK = NOTEBOOKS / NAME / f"{NAME}.ipynb"
EXERCISE = registry.find(NAME)
DRAWN = {"figure-ring", "figure-swizzle", "figure-overlap", "figure-causal", "figure-h200"}
MEASURED = REPOSITORY / "benchmarks" / "data" / "hopper" / "consumers_h200.json"
MOST_SECONDS = 180
ALL_POINTS = 20


def processor_seconds() -> float:
    """Of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Cell]]:
    """Run with the starter: the folder, and the code cells by id."""
    build_engine()
    folder = tmp_path_factory.mktemp(NAME)
    began = processor_seconds()
    cells = execute(working_copy(NOTEBOOK, folder), seconds=600)
    assert processor_seconds() - began < MOST_SECONDS
    return folder, {cell["id"]: cell for cell in cells}


def test_with_the_starter_nothing_raises_and_nothing_is_earned(untouched):
    _, cells = untouched
    for cell in cells.values():
        assert all(output["output_type"] != "error" for output in cell["outputs"]), cell["id"]
        assert all(output.get("name") != "stderr" for output in cell["outputs"]), cell["id"]
        assert "Traceback" not in text_shown(cell), cell["id"]
    parts = [text_shown(cell) for ident, cell in cells.items() if ident.startswith("part-")]
    assert len(parts) == len(EXERCISE.rubric)
    assert all("0/" in shown and "still the starter" in shown for shown in parts)
    assert text_shown(cells["predictions-points"]).startswith(f"Predictions: 0/{ALL_POINTS} points")


def test_the_figures_are_drawn(untouched):
    _, cells = untouched
    assert {ident for ident, cell in cells.items() if "data:image/png" in html_of(cell)} >= DRAWN


def test_the_lab_runs_all_seven_and_leaves_a_sheet(untouched):
    folder, cells = untouched
    lab = find_lab(NAME)
    shown = text_shown(cells["lab-run"])
    assert all(f"{kernel}.cu" in shown for kernel in lab.kernels)
    assert (folder / "answers.toml").read_bytes() == lab.sheet.read_bytes()
    assert "0 of 21 answers given" in text_shown(cells["lab-answers"])


def test_what_is_counted_on_the_solution_earns_every_point():
    found = measure(EXERCISE, EXERCISE.solution)
    assert found.missing == {}
    (cell, _) = cells_of(NOTEBOOK, "predictions")
    values = {"measured_speedup": ..., **found.values}
    written = re.sub(r'"(\w+)": \.\.\.', lambda one: f'"{one[1]}": {values[one[1]]!r}', text_of(cell))
    answers = ast.literal_eval(written.replace("Ellipsis", "...").partition("= ")[2])
    earned = grade(EXERCISE.predictions, answers, found.values, DeviceInfo(VIRTUAL, "")).earned
    assert earned == ALL_POINTS


def test_times_are_those_that_were_measured_at_the_shapes_of_the_target():
    kernels: dict[str, dict[str, float]] = json.loads(MEASURED.read_text())["kernels"]
    assert list(kernels["cuDNN"]) == [case.name for case in EXERCISE.bench]
    cells = {cell["id"]: text_of(cell) for cell in read(NOTEBOOK)["cells"]}
    drawn: dict[str, Any] = ast.literal_eval(cells["figure-h200"].partition("= ")[2].partition("\ntimes_")[0])
    assert drawn == kernels
    rows = [line.strip("| ").split(" | ") for line in cells["h200"].splitlines() if line.startswith("|")]
    names: list[str] = []
    for first, *others in rows:
        if first == "shape":
            names = others
        elif not first.startswith("---"):
            assert [float(one) for one in others] == [kernels[name][first] for name in names]
    assert {row[0] for row in rows} > set(kernels["cuDNN"])
