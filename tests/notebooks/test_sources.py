"""What every notebook owes nbgrader, the grader and the student: seen in its file, without running it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from common.core.paths import REPOSITORY
from common.virtual_gpu.profiles import profiles
from grader.course import jupyter_kernel
from tests.notebooks.sources import all_notebooks, cells_of, exercise_of, graded, read, text_of

NOTEBOOKS = all_notebooks()
WITH_EXERCISE = [notebook for notebook in NOTEBOOKS if exercise_of(notebook) is not None]
READABLE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
LEAST_TELLING = (
    28  # characters of a line that only a solution would have: a bare call of the API tells nothing
)

each = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
each_with_exercise = pytest.mark.parametrize("notebook", WITH_EXERCISE, ids=lambda path: path.stem)


def flags(cell: dict[str, Any]) -> tuple[bool, ...]:
    found = graded(cell)
    return tuple(found[name] for name in ("grade", "solution", "locked", "task"))


GRADED, ANSWER, ANSWER_CELL, READ_ONLY = (
    (True, False, True, False),
    (True, True, False, False),
    (False, True, False, False),
    (False, False, True, False),
)


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def test_there_are_notebooks():
    assert NOTEBOOKS


@each
def test_it_is_a_notebook_of_the_format_and_nothing_has_run_in_it(notebook: Path):
    nbformat = pytest.importorskip("nbformat")
    found = read(notebook)
    nbformat.validate(found)
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert found["metadata"]["kernelspec"] == jupyter_kernel.SPEC
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None), cell["id"]
    assert notebook.stem == notebook.parent.name


@each
def test_ids_are_readable_and_no_two_cells_share_one(notebook: Path):
    ids = [cell["id"] for cell in read(notebook)["cells"]]
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if not READABLE.fullmatch(name)] == []


@each
def test_every_cell_of_nbgraders_has_one_of_its_kinds(notebook: Path):
    for cell in read(notebook)["cells"]:
        if not (found := graded(cell)):
            continue
        assert found["schema_version"] == 3
        assert found["grade_id"] == cell["id"]
        assert flags(cell) in (GRADED, ANSWER, ANSWER_CELL, READ_ONLY), cell["id"]
        assert ("points" in found) == found["grade"], cell["id"]


@each
def test_only_the_starter_may_lie_beside_it(notebook: Path):
    beside = {path.name for path in notebook.parent.iterdir() if not path.name.startswith(".")}
    assert beside - {"kernel.cu"} == {notebook.name}


@each_with_exercise
def test_the_parts_are_those_that_the_grader_gives_points_for(notebook: Path):
    exercise = exercise_of(notebook)
    assert exercise is not None
    cells = cells_of(notebook, "part-")
    assert {cell["id"]: graded(cell)["points"] for cell in cells} == {
        f"part-{slug(name)}": points for name, points in exercise.rubric.items()
    }
    assert sum(graded(cell)["points"] for cell in cells) == 100
    for cell, name in zip(cells, exercise.rubric, strict=True):
        assert flags(cell) == GRADED
        assert text_of(cell) == f'lab.part("{name}")'


@each_with_exercise
def test_the_predictions_are_those_of_the_exercise_and_none_is_answered(notebook: Path):
    exercise = exercise_of(notebook)
    assert exercise is not None
    (answers, points) = cells_of(notebook, "predictions")
    assert answers["id"] == "predictions"
    assert flags(answers) == ANSWER_CELL
    (assignment,) = ast.parse(text_of(answers)).body
    assert isinstance(assignment, ast.Assign)
    assert ast.unparse(assignment.targets[0]) == "predictions"
    found = ast.literal_eval(assignment.value)
    assert list(found) == [one.name for one in exercise.predictions]
    assert set(found.values()) == {...}
    assert text_of(answers).count("  # ") == len(found)
    assert (points["id"], flags(points)) == ("predictions-points", GRADED)
    assert text_of(points) == "lab.compare(predictions)"
    assert graded(points)["points"] == 20


@each_with_exercise
def test_every_question_has_an_empty_answer_and_a_mark_scheme_of_as_many_points(notebook: Path):
    exercise = exercise_of(notebook)
    assert exercise is not None
    cells = {cell["id"]: cell for cell in cells_of(notebook, "q-")}
    questions = [name for name in cells if f"{name}-text" in cells]
    assert questions
    assert len(cells) == 2 * len(questions)
    for name in questions:
        assert flags(cells[name]) == ANSWER
        assert cells[name]["cell_type"] == "markdown"
        assert text_of(cells[name]) == "*Your answer:*"
        assert flags(cells[f"{name}-text"]) == READ_ONLY
    scheme = (exercise.solution.parent / "mark_scheme.md").read_text()
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", scheme, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted(questions)
    for name, section in sections.items():
        most = graded(cells[name])["points"]
        assert re.search(rf"^- {most:g}: ", section, re.MULTILINE), f"{name}: what earns {most:g} points?"


@each_with_exercise
def test_nothing_of_a_solution_is_in_it(notebook: Path):
    exercise = exercise_of(notebook)
    assert exercise is not None
    text = " ".join("\n".join(text_of(cell) for cell in read(notebook)["cells"]).split())
    starter = " ".join(exercise.starter.read_text().split())
    for line in solution_lines(exercise.solution.read_text()):
        assert line in starter or line not in text, line


def solution_lines(source: str) -> set[str]:
    """The lines between the marks that would give something away; comments are what the starter shows."""
    found: set[str] = set()
    inside = False
    for line in source.split("\n"):
        stated = " ".join(line.split())
        if BEGIN in line or END in line:
            inside = BEGIN in line
        elif inside and len(stated) >= LEAST_TELLING and not stated.startswith("//"):
            found.add(stated)
    return found


def test_lines_of_a_solution_are_found():
    source = (
        "// BEGIN SOLUTION\n  // TODO: copy\n  to[i] = from[i + first_of_the_row];\n// END SOLUTION\nint x;"
    )
    assert solution_lines(source) == {"to[i] = from[i + first_of_the_row];"}


@each
def test_a_round_trip_and_a_bandwidth_are_those_that_reports_name(notebook: Path):
    """Of the H200: a round trip as the model has it, and DRAM in one direction beside a copy's bandwidth."""
    h200 = profiles()["h200"]
    text = "\n".join(text_of(cell) for cell in read(notebook)["cells"])
    trips = re.findall(r"returns after ([\d.]+) µs|([\d.]+) µs for (?:a|one)\s+round trip", text)
    wanted = f"{h200.dram_latency_cycles / h200.clock_ghz / 1e3:.2f}"
    assert {first or second for first, second in trips} <= {wanted}
    one_way = h200.dram_bytes_per_second * (1 + h200.dram_one_way_gain) / 1e12
    assert set(re.findall(r"may name ([\d.]+) TB/s", text)) <= {f"{one_way:.2f}"}


@each_with_exercise
def test_a_statement_says_where_the_headers_of_its_starter_are(notebook: Path):
    exercise = exercise_of(notebook)
    assert exercise is not None
    headers = re.findall(r'#include "(\w+\.cuh)"', exercise.starter.read_text())
    statement = (exercise.folder / "README.md").read_text()
    assert all((REPOSITORY / "common" / "cuda" / header).is_file() for header in headers)
    assert not headers or "common/cuda/" in statement
