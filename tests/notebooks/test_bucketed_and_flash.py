"""Notebooks 04 and 05 run from the first cell to the last with the starter, and what is counted on the
solution earns every point of their predictions."""

from __future__ import annotations

import ast
import re
import resource
from pathlib import Path

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

NAMES = ("04_bucketed_kv", "05_flash_attention")
MOST_SECONDS = 180
DRAWN = {
    "04_bucketed_kv": {"figure-bytes", "figure-buckets", "quantise-eight", "errors", "baseline-timeline"},
    "05_flash_attention": {"figure-tiles", "figure-fragment", "figure-pipeline", "figure-banks", "timeline"},
}
DOCUMENTS = {"04_bucketed_kv": "bucketed-cache.md", "05_flash_attention": "flash-attention.md"}

each = pytest.mark.parametrize("name", NAMES)


def notebook(name: str) -> Path:
    return NOTEBOOKS / name / f"{name}.ipynb"


def processor_seconds() -> float:
    """Of processes that have ended: how long a run takes where nobody else works, however busy it is here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Cell]]]:
    """Both, run with the starter: the folder, and the code cells by id."""
    build_engine()  # once for all, whoever comes first
    made = {}
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        began = processor_seconds()
        cells = execute(working_copy(notebook(name), folder), seconds=600)
        assert processor_seconds() - began < MOST_SECONDS
        made[name] = folder, {cell["id"]: cell for cell in cells}
    return made


@each
def test_with_the_starter_nothing_raises_and_nothing_is_earned(name: str, untouched):
    _, cells = untouched[name]
    for cell in cells.values():
        assert all(output["output_type"] != "error" for output in cell["outputs"]), cell["id"]
        assert all(output.get("name") != "stderr" for output in cell["outputs"]), cell["id"]
        assert "Traceback" not in text_shown(cell), cell["id"]
    parts = [text_shown(cell) for ident, cell in cells.items() if ident.startswith("part-")]
    assert len(parts) == len(registry.find(name[:2]).rubric)
    assert all("0/" in shown and "still the starter" in shown for shown in parts)
    assert text_shown(cells["predictions-points"]).startswith("Predictions: 0/20 points")


@each
def test_the_figures_are_drawn(name: str, untouched):
    _, cells = untouched[name]
    drawn = {ident for ident, cell in cells.items() if "data:image/png" in html_of(cell)}
    assert drawn >= DRAWN[name]


def test_few_bits_are_enough_where_few_keys_matter(untouched):
    """What notebook 04 says of its own figures holds for what they show."""
    _, cells = untouched["04_bucketed_kv"]
    assert "elements 2, 5 lie in two bytes" in text_shown(cells["quantise-eight"])
    alone, both = re.findall(r"([\d.]+) % off", text_shown(cells["planes-error"]))
    assert float(both) < float(alone) / 50


def test_the_post_mortem_runs_all_seven_and_leaves_a_sheet(untouched):
    folder, cells = untouched["05_flash_attention"]
    lab = find_lab("05")
    shown = text_shown(cells["lab-run"])
    assert all(f"{kernel}.cu" in shown for kernel in lab.kernels)
    assert (folder / "answers.toml").read_bytes() == lab.sheet.read_bytes()
    assert "0 of 21 answers given" in text_shown(cells["lab-answers"])


@each
def test_what_is_counted_on_the_solution_earns_every_point(name: str):
    exercise = registry.find(name[:2])
    found = measure(exercise, exercise.solution)
    assert found.missing == {}
    (cell, _) = cells_of(notebook(name), "predictions")
    values = {"measured_speedup": ..., **found.values}
    written = re.sub(r'"(\w+)": \.\.\.', lambda one: f'"{one[1]}": {values[one[1]]!r}', text_of(cell))
    answers = ast.literal_eval(written.replace("Ellipsis", "...").partition("= ")[2])
    assert grade(exercise.predictions, answers, found.values, DeviceInfo(VIRTUAL, "")).earned == 20


@each
def test_times_of_the_h200_are_those_of_the_document(name: str):
    (cell,) = [cell for cell in read(notebook(name))["cells"] if cell["id"] == "h200"]
    rows = [line for line in text_of(cell).splitlines() if line.startswith("|")]
    document = (REPOSITORY / "docs" / DOCUMENTS[name]).read_text().splitlines()
    assert len(rows) > 8
    assert [row for row in rows if row not in document] == []
