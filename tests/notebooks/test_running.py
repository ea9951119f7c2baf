"""Notebooks 00 to 03 run from the first cell to the last, with the starter as it is handed out and with the
solution in its place."""

from __future__ import annotations

import ast
import functools
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.questions.grading import grade
from grader.questions.measured import measure
from grader.spec import registry
from tests.notebooks.sources import (
    NOTEBOOKS,
    Cell,
    execute,
    graded,
    html_of,
    read,
    text_of,
    text_shown,
    working_copy,
)

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")

NAMES = ("00_start", "01_kv_store", "02_fused_copy", "03_batched_copy")
MOST_CPU_SECONDS = 180
TOLD_TWICE = 2  # the figure above the work and the one behind it


def notebook(name: str) -> Path:
    return NOTEBOOKS / name / f"{name}.ipynb"


@pytest.fixture(scope="module")
def with_the_starter(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Cell]]:
    """The code cells of a notebook's run with the starter, by id. Each is run once."""

    @functools.cache
    def run(name: str) -> dict[str, Cell]:
        before = _cpu_seconds_of_children()
        cells = execute(working_copy(notebook(name), tmp_path_factory.mktemp(name)))
        assert _cpu_seconds_of_children() - before < MOST_CPU_SECONDS
        return {cell["id"]: cell for cell in cells}

    return run


def _cpu_seconds_of_children() -> float:
    """Of those that have ended, with all they started; a clock tells more of a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(params=NAMES)
def untouched(
    request: pytest.FixtureRequest, with_the_starter: Callable[[str], dict[str, Cell]]
) -> dict[str, Cell]:
    return with_the_starter(request.param)


def test_with_the_starter_nothing_raises_and_nothing_is_earned(untouched: dict[str, Cell]):
    for name, cell in untouched.items():
        shown = text_shown(cell)
        assert all(output["output_type"] != "error" for output in cell["outputs"]), name
        assert "Traceback" not in shown, name
        if name.startswith("part-"):
            assert "0/" in shown, name
            assert "still the starter" in shown, name
    if "predictions-points" in untouched:
        assert text_shown(untouched["predictions-points"]).startswith("Predictions: 0/20 points")


def test_there_is_a_figure_and_what_is_measured_has_one_too(untouched: dict[str, Cell]):
    drawn = [name for name, cell in untouched.items() if "data:image/png" in html_of(cell)]
    assert any(name.startswith("figure-") for name in drawn)
    assert len(drawn) >= TOLD_TWICE


def test_the_start_shows_what_it_says(
    tmp_path: Path, with_the_starter: Callable[[str], dict[str, Cell]], monkeypatch: pytest.MonkeyPatch
):
    """Each of its programs, and what becomes of it when the text's advice is taken."""
    from grader.notebook import run_file

    cells = with_the_starter("00_start")
    changes = {
        "add": ("  if (threadIdx.x == 0) {", "  __syncthreads();\n  if (threadIdx.x == 0) {"),
        "stride": ("kStride = 8", "kStride = 1"),
        "transpose": ("kPadding = 0", "kPadding = 1"),
    }
    stated = {}
    monkeypatch.chdir(tmp_path)
    for name, (before, after) in changes.items():
        magic, _, source = text_of(cells[f"write-{name}"]).partition("\n")
        assert magic == f"%%writefile {name}.cu"
        assert before in source
        Path(f"{name}.cu").write_text(source.replace(before, after))
        stated[name] = text_shown(cells[f"run-{name}"]), repr(run_file(f"{name}.cu"))
    assert stated["add"][0].startswith("add.cu: 3 findings")
    assert stated["add"][1].startswith("add.cu: no findings")
    assert "checksum of the first block = 384" in stated["add"][1]
    assert "load 128 × 32.0 sectors" in stated["stride"][0]
    assert "load 128 × 4.0 sectors" in stated["stride"][1]
    assert "992 bank conflicts" in stated["transpose"][0]
    assert "bank conflicts" not in stated["transpose"][1]


COPY = "__pipeline_memcpy_async(&row[mine], &from[mine], 16);\n"
COMMIT, WAIT, BARRIER = "__pipeline_commit();\n", "__pipeline_wait_prior(0);\n", "__syncthreads();\n"
WARM_UPS = {
    "row, as it is given": ("row", "", "init", 0),
    "row, right": ("row", COPY + COMMIT + WAIT, "", 256),
    "row, without a wait": ("row", COPY + COMMIT, "async", None),
    "row, without a group": ("row", COPY + WAIT, "async", None),
    "reversed, as it is given": ("reversed", "", "init", 0),
    "reversed, right": ("reversed", COPY + COMMIT + WAIT + BARRIER, "", 256),
    "reversed, without a barrier": ("reversed", COPY + COMMIT + WAIT, "race", None),
    "reversed, the barrier before the wait": ("reversed", COPY + COMMIT + BARRIER + WAIT, "async", None),
}


@pytest.mark.parametrize("name", WARM_UPS)
def test_a_warm_up_tells_what_is_missing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from grader.notebook import run_file

    program, lines, kind, right = WARM_UPS[name]
    (cell,) = [cell for cell in read(notebook("00_start"))["cells"] if cell["id"] == f"write-{program}"]
    source = text_of(cell).partition("\n")[2]
    (task,) = [line for line in source.splitlines() if "TODO" in line]
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text(source.replace(task, lines))
    shown = repr(run_file("mine.cu"))
    assert shown.startswith("mine.cu: no findings") is (kind == ""), shown
    assert not kind or f"\n{kind} " in shown, shown
    assert right is None or f"{right} of 256 elements are right" in shown, shown


@pytest.fixture(scope="module")
def measured_values() -> dict[str, dict[str, float]]:
    """What the predictions are held against when the solution is handed in, by exercise."""
    made = {}
    for name in NAMES[1:]:
        exercise = registry.find(name[:2])
        found = measure(exercise, exercise.solution)
        assert found.missing == {}
        made[exercise.id] = found.values
    return made


@pytest.mark.parametrize("name", NAMES[1:])
def test_numbers_that_are_counted_earn_every_point_and_no_answers_none(
    name: str, measured_values: dict[str, dict[str, float]]
):
    asked = registry.find(name[:2]).predictions
    values = measured_values[name]
    assert grade(asked, values, values).earned == 20
    assert grade(asked, {one.name: ... for one in asked}, values).earned == 0


def test_with_the_solution_the_first_notebook_earns_every_point(
    tmp_path: Path, measured_values: dict[str, dict[str, float]]
):
    exercise = registry.find("01")
    copy = working_copy(notebook("01_kv_store"), tmp_path, exercise.solution)
    answers = {name: round(value, 6) for name, value in measured_values[exercise.id].items()}
    filled = read(copy)
    (cell,) = [cell for cell in filled["cells"] if cell["id"] == "predictions"]
    cell["source"] = f"predictions = {answers!r}"
    nbformat.write(nbformat.from_dict(filled), copy)
    shown = {cell["id"]: cell for cell in execute(copy)}
    assert text_shown(shown["predictions-points"]).startswith("Predictions: 20/20 points")
    for name, cell in shown.items():
        if name.startswith("part-"):
            most = graded(cell)["points"]
            assert f"{most:g}/{most:g} points" in text_shown(cell), name
    given = ast.literal_eval(text_of(shown["predictions"]).partition("= ")[2])
    assert grade(exercise.predictions, given, measured_values[exercise.id]).earned == 20
