"""`./course nbgrader autograde` and what follows it, as commands over a class whose kernels take no time."""

from __future__ import annotations

import csv
import functools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from grader import cli
from grader.classes.local_processes import LocalProcesses
from grader.classes.run_log import read_runs
from grader.cluster import choose
from grader.course.settings import Settings
from grader.nbgrader import kernels
from grader.nbgrader.apps import nbgrader_functions
from grader.nbgrader.term.by_hand import by_hand_path, read_given
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from tests.grader import fake_pipeline
from tests.grader.cluster.dask_here import dask_here, without_times
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.stand_in import GRADER
from tests.nbgrader.tiny_notebook import QUESTION, cell_of

NAMES = ("ada", "ben")
VIRTUAL_HERE, GPU_HERE = DeviceInfo("virtual", "h200"), DeviceInfo("gpu", "NVIDIA H200", driver="580")


@pytest.fixture(scope="module")
def verb_class(small_class):
    """Ada and Ben hand in the same long kernel, which leaves a mark whenever it is graded."""
    text = Path(fake_pipeline.__file__).read_text().replace("// ", "")
    for name in NAMES:
        notebook = small_class.released
        cell_of(notebook, QUESTION).source = "Because."
        small_class.hand_in(name, notebook, f"// mark: {marks(small_class, name)} \n{text}")
    return small_class


@pytest.fixture(autouse=True)
def _stand_in(verb_class, monkeypatch):
    monkeypatch.setattr(kernels, "class_run", functools.partial(kernels.class_run, grader=GRADER))


@pytest.fixture
def graded(verb_class, capsys):
    """Graded once, on the virtual GPU of this machine; what that printed is forgotten."""
    assert verb(verb_class, "autograde", "--device", "virtual") == 0
    capsys.readouterr()
    return verb_class


def marks(small_class, name: str) -> Path:
    return small_class.folder.root.parent / f"{name}.marks"


def verb(small_class, *arguments: str) -> int:
    return cli.main(["nbgrader", "--class", str(small_class.folder.root), *arguments])


def give(small_class, name: str, points: float | None, *database: str) -> None:
    with nbgrader_functions(small_class.folder, database) as functions, functions.gradebook as book:
        grade = book.find_grade(QUESTION, FIRST, FIRST, name)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def given(small_class, name: str) -> float | None:
    with nbgrader_functions(small_class.folder) as functions, functions.gradebook as book:
        return book.find_grade(QUESTION, FIRST, FIRST, name).manual_score


VIRTUAL_HERE, GPU_HERE = DeviceInfo("virtual", "h200"), DeviceInfo("gpu", "NVIDIA H200", driver="580")


@contextmanager
def cluster_with_a_gpu(place: str, settings: Settings) -> Iterator[mock.Mock]:
    yield mock.Mock(device=lambda: GPU_HERE)


@pytest.mark.parametrize(
    ("here", "on", "device", "changes"),
    [
        (VIRTUAL_HERE, "here", "virtual", False),
        (GPU_HERE, "here", "gpu", True),
        (GPU_HERE, "a/scheduler.json", "virtual", False),
        (GPU_HERE, "slurm", None, False),
        (VIRTUAL_HERE, "a/scheduler.json", "gpu", True),
        (VIRTUAL_HERE, "slurm", "gpu", True),
    ],
)
def test_a_dry_run_expects_the_device_that_the_run_would_grade_on(
    graded, capsys, monkeypatch, here, on, device, changes
):
    """What was graded on the virtual GPU stays, whatever this machine has, where a cluster grades there."""
    for module in (choose, kernels):
        monkeypatch.setattr(module, "choose_device", lambda *_: here)
    monkeypatch.setattr(choose, "must_be_installed", lambda: None)
    monkeypatch.setattr(choose, "_address_for", lambda *_: "tls://there:1")
    for way in ("_dask", "_slurm"):
        monkeypatch.setattr(choose, way, cluster_with_a_gpu)
    chosen = ["--device", device] if device else []
    assert verb(graded, "autograde", "--dry-run", "--json", "--on", on, *chosen) == 0
    found = json.loads(capsys.readouterr().out)["submissions"]
    assert {one["why"] for one in found} == {"the device changed" if changes else ""}


def test_one_student_is_graded_again_and_nobody_else(graded):
    before = {name: marks(graded, name).read_text() for name in NAMES}
    notebooks = {name: next((graded.folder.autograded / name).rglob("*.ipynb")) for name in NAMES}
    written = {name: path.stat().st_mtime_ns for name, path in notebooks.items()}
    assert verb(graded, "autograde", "--device", "virtual", "--student", "ada", "--force") == 0
    assert {name: marks(graded, name).read_text() for name in NAMES} == before | {"ada": before["ada"] + "x"}
    renewed = [name for name, path in notebooks.items() if path.stat().st_mtime_ns != written[name]]
    assert renewed == ["ada"]
    [row] = read_runs(graded.folder.grades)[-1].rows
    assert row.student == "ada"


def test_after_grading_pages_show_the_class_and_kernels_that_are_alike(graded, capsys):
    other = Record.read(graded.folder.grades / "records" / FIRST / "ada.json")
    other.exercise = "77_gone"  # of an exercise that the course had before
    other.write(graded.folder.grades / "records" / other.exercise / "ada.json")
    removed = Record.read(graded.folder.grades / "records" / FIRST / "ada.json")
    removed.submission = "cleo"  # whose folder was removed
    removed.write(graded.folder.grades / "records" / FIRST / "cleo.json")
    assert verb(graded, "autograde", "--device", "virtual", "--json") == 0
    shown = capsys.readouterr()
    assert {row["student"] for row in json.loads(shown.out)} == set(NAMES)
    grades = graded.folder.grades
    for page in ("statistics.html", "run.html"):
        assert f"{grades / page}\n" in shown.err
    statistics = (grades / "statistics.html").read_text()
    assert "2 submissions, 2 with full marks" in statistics
    assert "77_gone" not in statistics
    assert f"1 pair of submissions are similar: see {grades / 'similarity.csv'}" in shown.err
    [pair] = csv.DictReader((grades / "similarity.csv").open())
    assert (pair["exercise"], pair["first"], pair["second"]) == (FIRST, *NAMES)
    shutil.rmtree(grades / "records" / other.exercise)
    (grades / "records" / FIRST / "cleo.json").unlink()


def test_a_page_says_how_the_runs_went(graded):
    assert verb(graded, "autograde", "--device", "virtual", "--force") == 0
    page = (graded.folder.grades / "run.html").read_text()
    assert "2 of 2 submissions graded on 1 machine" in page
    for title in ("Time per exercise", "Machines", "Slowest"):
        assert f"<h3>{title}</h3>" in page


@pytest.mark.parametrize("command", ["generate_feedback", "export"])
def test_points_given_by_hand_are_kept_by_what_hands_them_back(graded, command, tmp_path, monkeypatch):
    """A gradebook that is lost after that loses nothing."""
    monkeypatch.chdir(tmp_path)  # export writes its table there
    by_hand_path(graded.folder).unlink(missing_ok=True)
    give(graded, "ben", 4)
    assert verb(graded, command) == 0
    (graded.folder.root / "gradebook.db").unlink()
    assert verb(graded, "autograde", "--device", "virtual") == 0
    assert given(graded, "ben") == 4


def test_points_in_another_gradebook_are_kept_when_that_is_exported(graded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_hand_path(graded.folder).unlink(missing_ok=True)
    database = f"--db=sqlite:///{tmp_path}/other.db"
    assert verb(graded, "autograde", "--device", "virtual", database) == 0
    give(graded, "ada", 3, database)
    assert verb(graded, "export", database, "--to=table.csv") == 0
    assert read_given(graded.folder)[FIRST]["ada"][QUESTION]["points"] == 3
    by_hand_path(graded.folder).unlink()


@pytest.mark.parametrize("command", ["generate_feedback", "export"])
def test_points_that_left_the_gradebook_are_said_by_what_hands_them_back(
    graded, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    give(graded, "ben", 4)
    assert verb(graded, command) == 0
    give(graded, "ben", None)
    capsys.readouterr()
    assert verb(graded, command) == 0
    assert f"ben, {FIRST}, {QUESTION}: points 4.0): kept in " in capsys.readouterr().err
    for old in graded.folder.grades.glob("by_hand.*.json"):
        old.unlink()


def test_a_class_is_graded_on_a_cluster_as_it_is_here(graded, tmp_path, monkeypatch):
    """The gradebook and the records are the same; nothing is graded on this machine."""
    pytest.importorskip("distributed", reason="needs Dask: pip install -r requirements/cluster.txt")
    paths = [graded.folder.grades / "records" / FIRST / f"{name}.json" for name in NAMES]
    before = [without_times(path) for path in paths]
    points = {name: one.points for name, one in graded.autograde().items()}
    counts = {name: marks(graded, name).read_text() for name in NAMES}
    monkeypatch.setattr(LocalProcesses, "graded", mock.Mock(side_effect=AssertionError("graded here")))
    with dask_here(tmp_path / "dask", workers=1) as cluster:
        there = ("--device", "virtual", "--on", str(cluster.file))
        assert verb(graded, "autograde", *there, "--dry-run") == 0
        assert verb(graded, "autograde", *there) == 0
        assert {name: marks(graded, name).read_text() for name in NAMES} == counts, "what is graded stays"
        assert verb(graded, "autograde", *there, "--force") == 0
    assert {name: marks(graded, name).read_text() for name in NAMES} == {
        name: f"{count}x" for name, count in counts.items()
    }
    assert [without_times(path) for path in paths] == before
    assert {name: one.points for name, one in graded.autograde().items()} == points
