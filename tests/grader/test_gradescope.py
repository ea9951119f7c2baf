"""Gradescope's autograder: its two scripts, run in folders laid out as Gradescope lays them out."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from common.build.cache import default_cache
from common.build.engine.build import build_engine
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli.instructor.gradescope import main
from grader.records.record import NOT_AS_ASKED, CaseResult, MechanismResult, PartResult, Record
from grader.render.gradescope import results
from grader.spec import registry
from tests.grader.fake_pipeline import make_record
from tests.waiting import LONG

NAME = "01_kv_store"


@pytest.fixture(scope="module")
def autograder(tmp_path_factory) -> Path:
    """/autograder as Gradescope makes it from the zip: source/, run_autograder, and the results' folder."""
    root = tmp_path_factory.mktemp("gradescope") / "autograder"
    made = root.with_suffix(".zip")
    assert main(["01", str(made), "--leaderboard", "--hidden-cases", "after_due_date"]) == 0
    (root / "results").mkdir(parents=True)
    with zipfile.ZipFile(made) as archive:
        for one in archive.infolist():
            Path(archive.extract(one, root / "source")).chmod(one.external_attr >> 16 & 0o777)
    shutil.copy2(root / "source" / "run_autograder", root)
    return root


def run(root: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """As Gradescope does, in its folder; apt-get is left out, and the packages are this machine's."""
    tools = root.parent / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "apt-get").write_text('#!/bin/sh\necho "apt-get $*"\n')
    (tools / "apt-get").chmod(0o755)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(root.parent),
        "AUTOGRADER_ROOT": str(root),
        "COURSE_PYTHON": sys.executable,
        "COURSE_CACHE": str(default_cache().root),
    }
    return subprocess.run(
        [script], cwd=root, env=environment, capture_output=True, text=True, timeout=20 * LONG, check=False
    )


def hand_in(root: Path, files: dict[str, str]) -> dict:
    shutil.rmtree(root / "submission", ignore_errors=True)
    (root / "submission").mkdir()
    for name, text in files.items():
        (root / "submission" / name).write_text(text)
    (root / "results" / "results.json").unlink(missing_ok=True)
    ended = run(root, root / "run_autograder")
    assert ended.returncode == 0, ended.stderr
    return json.loads((root / "results" / "results.json").read_text())


def test_the_zip_has_both_scripts_at_its_root_and_no_solution(autograder):
    source = autograder / "source"
    assert os.access(source / "run_autograder", os.X_OK)
    assert (source / "setup.sh").read_text().startswith("#!/usr/bin/env bash\n")
    assert not (source / "course" / "solutions").exists()
    assert (source / "grades" / ".secret").stat().st_mode & 0o777 == 0o600


def test_setup_installs_what_is_needed_and_grades_the_starter(autograder):
    build_engine()
    ended = run(autograder, autograder / "source" / "setup.sh")
    assert ended.returncode == 0, ended.stderr
    assert "apt-get install -y --no-install-recommends g++ python3 python3-venv" in ended.stdout
    assert "wrong answer: 0/100 points" in ended.stdout
    assert not (autograder / "results" / "results.json").exists()


def test_a_submission_has_results_with_visibility_and_leaderboard(autograder):
    build_engine()
    found = hand_in(autograder, {"mine.cu": (REPOSITORY / "solutions" / NAME / "kernel.cu").read_text()})
    assert found["score"] == 100
    parts = {test["name"]: test["score"] for test in found["tests"] if "score" in test}
    assert parts == dict(registry.find("01").rubric)
    seen = {test["name"].split()[0]: test["visibility"] for test in found["tests"] if "case" in test["name"]}
    assert seen == {"public": "visible", "hidden": "after_due_date"}
    assert found["leaderboard"][0] == {"name": "points", "value": 100.0}
    assert found["leaderboard"][1]["value"] > 1
    secret = (autograder / "source" / "grades" / ".secret").read_text()
    assert secret not in json.dumps(found)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"notes.txt": "later"}, "there is no .cu file: submit kernel.cu"),
        ({"a.cu": "", "b.cu": ""}, "there are 2 .cu files and none is named kernel.cu"),
    ],
)
def test_a_submission_without_the_file_gets_a_sentence(autograder, files, words):
    found = hand_in(autograder, files)
    assert found["score"] == 0
    assert words in found["output"]


def test_the_zip_is_private_since_it_has_a_secret(tmp_path):
    path = tmp_path / "autograder.zip"
    assert main(["01", str(path)]) == 0
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_zip_is_not_overwritten(tmp_path):
    (tmp_path / "a.zip").write_text("mine")
    with pytest.raises(CourseError, match="exists already"):
        main(["01", str(tmp_path / "a.zip")])


def test_results_are_visible_unless_an_instructor_says_otherwise():
    plain = results(make_record())
    assert {plain["visibility"], *(test["visibility"] for test in plain["tests"])} == {"visible"}
    assert "leaderboard" not in plain
    later = results(make_record(), visibility="after_published", hidden_cases="hidden")
    assert {test["visibility"] for test in later["tests"]} == {"after_published", "hidden"}


HIDDEN = {
    "its name": "secret case",
    "its sizes": "4,711",
    "its message": "out[3] is 1",
    "a finding there": "past the end of in (18,844 bytes)",
    "a thread there": "37",
}


def record_that_fails_in_a_hidden_case() -> Record:
    """Every kind of text about it: first failures, mechanisms of the exercise and of a step, findings."""
    name, rows, said, found, thread = HIDDEN.values()
    record = make_record(right=False)
    failed = CaseResult(name, False, {}, False, "mismatch", f"{said}. It saw: {found}", shape=f"rows: {rows}")
    step = dataclasses.replace(failed, step="rows")
    lack = f"moved 12 of {rows} bytes ({name})"
    first = f"1 of 2 cases passed; {failed.as_first_failure}: another message, {said}"
    record.cases = [record.cases[0], failed, step]
    record.mechanisms = [MechanismResult("copies ahead", False, lack)]
    record.parts = [
        PartResult("rows", 0.0, 2.0, first),
        PartResult("tiles", 0.0, 2.0, NOT_AS_ASKED + lack),
        PartResult("correct", 3.0, 5.0, first),
        PartResult("clean", 0.0, 1.0, "1 finding, race at kernel.cu:2"),
        PartResult("mechanism", 0.0, 1.0, lack),
    ]
    record.findings[0] |= {"message": found, "thread": [int(thread), 0, 0], "advice": f"Ask for {rows}"}
    return record


@pytest.mark.parametrize("hidden", ["hidden", "after_due_date", "after_published"])
def test_nothing_that_students_see_tells_of_a_hidden_case_that_is_not_shown(hidden):
    found = results(record_that_fails_in_a_hidden_case(), hidden_cases=hidden, leaderboard=True)
    found["tests"] = [test for test in found["tests"] if test["visibility"] == "visible"]
    seen = json.dumps(found)
    assert {what for what, text in HIDDEN.items() if text in seen} == set()
    said = {test["name"]: test["output"] for test in found["tests"]}
    assert said["correct"] == said["rows"] == "1 of 2 cases passed; the first failure is a hidden case"
    assert said["tiles"] == "right, but not as asked: not seen in a hidden case"
    assert "race" in said["clean"]
    assert "kernel.cu:2" in said["clean"], "a student still reads where it happened"


@pytest.mark.parametrize("visibility", ["visible", "after_due_date"])
def test_hidden_cases_that_are_shown_are_shown_whole(visibility):
    shown = {"visibility": visibility, "hidden_cases": visibility}
    seen = json.dumps(results(record_that_fails_in_a_hidden_case(), **shown))
    assert {what for what, text in HIDDEN.items() if text not in seen} == set()
