"""One submission of exercise 01, graded for real: its marks are the same wherever they are shown."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys

import pytest

from grader import cli
from grader.classes.class_run import kept_record
from grader.nbgrader import class_folder
from grader.nbgrader.apps import must_succeed, nbgrader_functions, run_nbgrader
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import autograde, make_assignments
from grader.nbgrader.handing_in.answers import read_answers
from grader.nbgrader.kernels import class_run, grade_kernels, submission_of
from grader.nbgrader.marks.cell_marks import Marker
from grader.spec import registry
from tests.nbgrader.tiny_notebook import cell_of, tiny_notebook, write_tiny_notebook

ID = "01_kv_store"
STUDENT = "ben"
RIGHT = {"launches": 1, "baseline_store_sectors": 16}


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """The baseline is right, clean and not as asked: every part has another share of its points."""
    root = tmp_path_factory.mktemp("agree")
    exercise = registry.find("01")
    folder = ClassFolder(root / "class")
    place = folder.handed_in(STUDENT, ID)
    place.mkdir(parents=True)
    notebook = tiny_notebook(exercise)
    cell_of(notebook, "predictions").source = f"predictions = {RIGHT}"
    (place / f"{ID}.ipynb").write_text(json.dumps(notebook))
    (place / "kernel.cu").write_bytes(exercise.baseline.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_folder, "NOTEBOOKS", root / "notebooks")
        write_tiny_notebook(exercise, root / "notebooks")
        make_assignments(folder, [ID])
        [graded] = autograde(folder, class_run(folder, device="virtual"), [(STUDENT, ID)])
        with nbgrader_functions(folder) as functions:
            must_succeed("feedback", functions.generate_feedback(ID))
            with functions.gradebook as book:
                cells = {
                    grade.name: grade.auto_score
                    for grade in book.find_submission(ID, STUDENT).notebooks[0].grades
                }
        run_nbgrader(folder, ["export", f"--to={root}/gradebook.csv"])
    files = {kind: str(root / name) for kind, name in FILES.items()}
    arguments = [f"--{kind}={path}" for kind, path in files.items()]
    assert (
        cli.main(["grade", str(folder.submitted), "--device=virtual", f"--output={root}/grades", *arguments])
        == 0
    )
    return root, graded, cells


FILES = {"csv": "grades.csv", "gradescope": "results.json", "html": "pages"}


def predicted() -> float:
    """What the right predictions are worth."""
    worth = {one.name: one.points for one in registry.find("01").predictions}
    return sum(worth[name] for name in RIGHT)


def kernel_points(cells) -> float:
    return round(sum(points for name, points in cells.items() if name.startswith("part-")), 2)


def test_the_gradebook_has_the_points_of_the_grader(marks):
    root, graded, cells = marks
    record = json.loads((root / "grades" / "records" / ID / f"{STUDENT}.json").read_text())
    assert {f"part-{part['name']}": part["points"] for part in record["parts"]} == {
        name: points for name, points in cells.items() if name.startswith("part-")
    }
    assert kernel_points(cells) == record["points"]
    assert 0 < record["points"] < 100
    assert cells["predictions-points"] == predicted() > 0
    assert graded.points == pytest.approx(record["points"] + predicted())


def test_every_table_and_page_says_the_same(marks):
    root, graded, cells = marks
    points = kernel_points(cells)
    [row] = csv.DictReader((root / "grades.csv").open())
    [exported] = csv.DictReader((root / "gradebook.csv").open())
    scope = json.loads((root / "results.json").read_text())
    page = (root / "pages" / ID / f"{STUDENT}.html").read_text()
    assert float(row["points"]) == points
    assert float(exported["score"]) == pytest.approx(points + cells["predictions-points"]) == graded.points
    assert scope["score"] == points
    assert sum(test.get("score", 0) for test in scope["tests"]) == pytest.approx(points)
    assert f"{points:g}/100 points" in page


def test_feedback_has_the_same_points(marks):
    root, graded, cells = marks
    page = (root / "class" / "feedback" / STUDENT / ID / f"{ID}.html").read_text()
    text = re.sub(r"<[^>]+>", "", page)
    assert f"{graded.points:g}" in text
    for name, points in cells.items():
        if name.startswith("part-"):
            assert f"{name.removeprefix('part-')}: {points:g}/" in text


def test_without_a_kernel_what_was_predicted_of_the_baseline_still_counts(tmp_path):
    folder = ClassFolder(tmp_path / "class")
    (folder.handed_in(STUDENT, ID)).mkdir(parents=True)
    run = class_run(folder, device="virtual")
    [record] = grade_kernels(run, [submission_of(folder, STUDENT, ID)])
    assert record.measured["baseline_store_sectors"] == 16
    assert "launches" not in record.measured
    answers = read_answers(f"predictions = {RIGHT}")
    found = Marker(registry.find("01"), record, answers).mark("predictions-points", 20)
    assert found.points == 2
    assert "there is no kernel.cu beside the notebook" in repr(found.reasons)
    assert kept_record(run, submission_of(folder, STUDENT, ID)) == record


def test_plain_nbgrader_gives_the_same_points_and_finds_a_notebook_under_another_name(marks):
    root, graded, cells = marks
    folder = ClassFolder(root / "class")
    mine, theirs = folder.handed_in(STUDENT, ID), folder.handed_in("dora", ID)
    theirs.mkdir(parents=True)
    shutil.copyfile(mine / f"{ID}.ipynb", theirs / "my notebook.ipynb")
    shutil.copyfile(mine / "kernel.cu", theirs / "kernel.cu")
    command = [sys.executable, "-m", "nbgrader", "autograde", ID, "--create", "--force"]
    done = subprocess.run(
        [*command, "--TrustedGrade.device=virtual"], cwd=folder.root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with nbgrader_functions(folder) as functions, functions.gradebook as book:
        scores = {one.student.id: one.score for one in book.assignment_submissions(ID)}
        [notebook] = book.find_submission(ID, "dora").notebooks
        assert {grade.name: grade.auto_score for grade in notebook.grades} == cells
    assert scores == {STUDENT: graded.points, "dora": graded.points}
