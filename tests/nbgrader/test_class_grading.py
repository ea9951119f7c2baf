"""A class is written into the gradebook once, however often a run is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from common.core.paths import REPOSITORY
from grader.nbgrader.apps import nbgrader_functions
from grader.spec import registry
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.tiny_notebook import QUESTION, cell_of
from tests.waiting import LONG, wait_until

STUDENTS = [f"student{number}" for number in range(8)]


@pytest.fixture(scope="module")
def marks(small_class, tmp_path_factory) -> dict[str, Path]:
    """Eight hand in; a kernel's mark grows by one with each grading of it."""
    folder = tmp_path_factory.mktemp("marks")
    for number, name in enumerate(STUDENTS):
        notebook = small_class.released
        cell_of(notebook, "predictions").source = 'predictions = {"launches": 1, "bytes": 32 * 64}'
        cell_of(notebook, QUESTION).source = "Because."
        kind = "// wrong" if number % 2 else "// fine"
        small_class.hand_in(name, notebook, f"{kind}\n// mark: {folder / name} \n// slow\n")
    return {name: folder / name for name in STUDENTS}


def run_and_kill(small_class, when) -> None:
    """Start the run in a process of its own and kill it, with all it started, when `when()` holds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.nbgrader.small_course", small_class.folder.root.parent],
        cwd=REPOSITORY,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: when() or process.poll() is not None, seconds=10 * LONG)
        assert process.poll() is None, "the run ended before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_class_run_killed_twice_continues_and_grades_no_student_twice(small_class, marks):
    grades = small_class.folder.grades
    run_and_kill(small_class, lambda: len(list(grades.glob("records/*/.keys/student*"))) >= 3)
    finished = [path.name for path in grades.glob("records/*/.keys/student*")]
    assert 3 <= len(finished) < 8
    autograded = small_class.folder.root / "autograded"
    run_and_kill(small_class, lambda: len(list(autograded.glob("student*/*/*.ipynb"))) >= 2)
    assert not list(grades.glob(f"written/{FIRST}/student*")), "points come in one transaction"
    with nbgrader_functions(small_class.folder) as functions, functions.gradebook as book:
        assert book.students == []

    graded = small_class.autograde()
    assert [one.problem for one in graded.values()] == [""] * 8
    assert {one.points for name, one in graded.items() if int(name[-1]) % 2} == {3 + 1.5}
    assert {one.points for name, one in graded.items() if not int(name[-1]) % 2} == {10 + 1.5}
    # Two at a time: whoever was being graded when the run was killed was not graded yet.
    counts = {name: len(path.read_text()) for name, path in marks.items()}
    assert [counts[name] for name in finished] == [1] * len(finished)
    assert sum(counts.values()) <= 8 + 2


def test_one_that_cannot_be_written_costs_no_other_its_points(small_class, marks):
    in_the_way = small_class.folder.root / "autograded" / "unlucky"
    small_class.hand_in("unlucky", small_class.released)
    small_class.hand_in("beside", small_class.released)
    in_the_way.write_text("a file where a folder belongs")
    graded = small_class.autograde()
    assert graded["unlucky"].problem
    assert (graded["beside"].problem, graded["beside"].points) == ("", 10)
    in_the_way.unlink()
    assert small_class.autograde()["unlucky"].points == 10
    for name in ("unlucky", "beside"):
        shutil.rmtree(small_class.folder.handed_in(name, FIRST).parent)


def test_the_same_command_again_changes_nothing(small_class, marks):
    small_class.autograde()
    counts = {name: path.read_text() for name, path in marks.items()}
    written = small_class.folder.root / "autograded" / "student0" / FIRST / f"{FIRST}.ipynb"
    before = written.stat().st_mtime_ns
    small_class.autograde()
    assert {name: path.read_text() for name, path in marks.items()} == counts
    assert written.stat().st_mtime_ns == before


def test_a_newer_submission_is_graded_and_what_a_person_gave_stays(small_class, marks):
    small_class.autograde()
    with nbgrader_functions(small_class.folder) as functions, functions.gradebook as book:
        book.find_grade(QUESTION, FIRST, FIRST, "student1").manual_score = 4
        book.db.commit()
    kernel = small_class.folder.handed_in("student1", FIRST) / "kernel.cu"
    kernel.write_text("// fine now")
    graded = small_class.autograde()
    assert graded["student1"].points == 10 + 1.5 + 4


def test_the_database_may_be_another(small_class, marks, tmp_path):
    from grader.nbgrader.class_grading import autograde, make_assignments
    from grader.nbgrader.kernels import class_run
    from tests.nbgrader.stand_in import GRADER

    url = f"--db=sqlite:///{tmp_path}/elsewhere.db"
    make_assignments(small_class.folder, [FIRST], [url])
    small_class.autograde()
    run = class_run(small_class.folder, device="virtual", grader=GRADER)
    [one] = autograde(small_class.folder, run, [("student0", FIRST)], arguments=[url])
    assert (one.points, one.problem) == (11.5, "")
    with nbgrader_functions(small_class.folder, [url]) as functions, functions.gradebook as book:
        assert [student.id for student in book.students] == ["student0"]


def test_points_of_many_take_one_transaction_and_few_statements(small_class, marks):
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    from grader.nbgrader import class_grading

    counted: Counter[str] = Counter()

    def count(what: str) -> Callable[..., None]:
        return lambda *_: counted.update([what])

    heard = [("before_cursor_execute", count("statements")), ("commit", count("commits"))]
    small_class.autograde()
    newer = STUDENTS[2:6]
    for name in newer:
        kernel = small_class.folder.handed_in(name, FIRST) / "kernel.cu"
        kernel.write_text(f"{kernel.read_text()}\n// once more\n")
    real = class_grading.write_points

    def write(*arguments: Any) -> dict:
        for happening, listener in heard:
            event.listen(Engine, happening, listener)
        try:
            return real(*arguments)
        finally:
            for happening, listener in heard:
                event.remove(Engine, happening, listener)

    with mock.patch.object(class_grading, "write_points", write):
        small_class.autograde()
    opening = 2  # commits of nbgrader itself, when it opens a gradebook
    assert counted["commits"] == opening + 1, counted
    assert counted["statements"] <= 30 * len(newer), counted


def as_in_another_process() -> None:
    registry.load.cache_clear()
    package = registry.package_of(registry.EXERCISES / FIRST)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def test_a_prediction_that_counts_otherwise_changes_marks_whose_records_are_the_same(
    small_class, marks, capsys
):
    before = small_class.autograde()["student0"]
    path = registry.EXERCISES / FIRST / "exercise.py"
    text = path.read_text()
    try:
        path.write_text(text.replace("Factor(1.0, 4.0)", "Factor(10.0, 40.0)"))
        as_in_another_process()
        capsys.readouterr()
        after = small_class.autograde()["student0"]
        said = capsys.readouterr().err
    finally:
        path.write_text(text)
        as_in_another_process()
    assert after.points > before.points
    assert "in the gradebook, made before the exercise changed: written again (student0 01_first" in said
