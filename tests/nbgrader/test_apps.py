"""nbgrader's commands in this process: each run has the class and the options that it was called with."""

from __future__ import annotations

from grader.nbgrader.apps import run_nbgrader
from grader.nbgrader.class_folder import ClassFolder


def test_a_command_does_not_keep_the_gradebook_of_its_last_run(tmp_path):
    for student, options in (("ada", [f"--db=sqlite:///{tmp_path}/elsewhere.db"]), ("ben", [])):
        folder = ClassFolder(tmp_path / student)
        assert run_nbgrader(folder, ["db", "student", "add", student, *options]) == 0
        assert run_nbgrader(folder, ["db", "assignment", "add", "first", *options]) == 0
        assert run_nbgrader(folder, ["export", f"--to={tmp_path}/{student}.csv", *options]) == 0
    tables = [(tmp_path / f"{student}.csv").read_text() for student in ("ada", "ben")]
    assert [("ada" in table, "ben" in table) for table in tables] == [(True, False), (False, True)]
