"""Gradescope's autograder on a Debian that has nothing but what its own setup.sh installs.

The log, with times and sizes, is left in work/bare_roots/.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from grader.cli.instructor.gradescope import main
from grader.spec import registry
from tests.bare_roots.debian import Root
from tests.bare_roots.test_bare_roots import DEBIANS, LOGS, folder

__all__ = ["folder"]

# As Gradescope's documentation describes it; it lies beside the submission's folder.
METADATA = {
    "id": 123456,
    "created_at": "2030-01-30T14:22:32.365935-07:00",
    "assignment": {
        "due_date": "2030-01-31T23:00:00.000000-07:00",
        "group_size": None,
        "group_submission": False,
        "id": 25828,
        "course_id": 1234,
        "late_due_date": None,
        "release_date": "2030-01-02T00:00:00.000000-07:00",
        "title": "KV store",
        "total_points": "100.0",
    },
    "submission_method": "upload",
    "users": [{"email": "ada@example.com", "id": 1234, "name": "Ada"}],
    "previous_submissions": [],
}


@pytest.fixture
def autograder(folder, tmp_path) -> Root:
    """A root without any package, and in it /autograder as Gradescope makes it from the zip."""
    root = Root(folder, DEBIANS["12"], packages=())
    made, place = tmp_path / "autograder.zip", root.folder / "autograder"
    assert main(["01", str(made), "--leaderboard", "--hidden-cases", "after_published"]) == 0
    for name in ("source", "submission", "results"):
        (place / name).mkdir(parents=True)
    with zipfile.ZipFile(made) as archive:
        for one in archive.infolist():
            Path(archive.extract(one, place / "source")).chmod(one.external_attr >> 16 & 0o777)
    shutil.copy2(place / "source" / "run_autograder", place)
    (place / "submission_metadata.json").write_text(json.dumps(METADATA))
    return root


def graded(root: Root, kernel: Path) -> dict:
    """A submission as Gradescope grades it: a kernel.cu, and then run_autograder."""
    place = root.folder / "autograder"
    shutil.copy(kernel, place / "submission" / "kernel.cu")
    (place / "results" / "results.json").unlink(missing_ok=True)
    ended = root.run("/autograder/run_autograder", cwd="/autograder")
    assert ended.status == 0, ended.output[-3000:]
    found: dict = json.loads((place / "results" / "results.json").read_text())
    return found


def test_the_zip_sets_itself_up_and_grades_what_is_submitted(autograder):
    exercise = registry.find("01")
    try:
        setup = autograder.run("/autograder/source/setup.sh", cwd="/autograder/source")
        assert setup.status == 0, setup.output[-3000:]
        assert "wrong answer: 0/100 points" in setup.output, "setup ends with the starter, graded"
        solution = graded(autograder, exercise.solution)
        assert solution["score"] == 100
        assert {test["name"]: test["score"] for test in solution["tests"] if "score" in test} == dict(
            exercise.rubric
        )
        assert solution["leaderboard"][0] == {"name": "points", "value": 100.0}
        assert graded(autograder, exercise.starter)["score"] == 0
    finally:
        autograder.write_log(LOGS / "gradescope.log")
