"""`./course grade`: what it prints, writes and answers, over a grading that takes no time."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.actions import grade as action
from grader.classes import similarity
from grader.classes.class_run import ClassRun, grade_all
from grader.cli.instructor import grade
from grader.records.record import Record
from grader.records.replay import differences
from tests.grader.course_fixtures import FIRST, GRADER, SECOND, course
from tests.grader.fake_pipeline import make_record

__all__ = ["course"]


@pytest.fixture(autouse=True)
def _quick_grader(monkeypatch):
    def quickly(run: ClassRun, submissions):
        return grade_all(dataclasses.replace(run, grader=GRADER), submissions)

    monkeypatch.setattr(action, "grade_all", quickly)


def hand_in(course: Path, **texts: str) -> Path:
    for student, text in texts.items():
        folder = course / "class" / student / FIRST
        folder.mkdir(parents=True)
        (folder / "kernel.cu").write_text(text)
    return course / "class"


def verb(*arguments: object) -> int:
    return grade.main(["--device", "virtual", *map(str, arguments)])


def test_without_a_path_every_reference_is_checked(course, capsys):
    assert verb() == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "device: virtual GPU (h200)"
    assert FIRST in shown
    assert SECOND in shown
    assert not (course / "grades").exists(), "a self-check leaves nothing behind"


def test_a_reference_that_misses_full_marks_fails_the_self_check(course, capsys):
    (course / "solutions" / SECOND / "kernel.cu").write_text("// wrong")
    assert verb() == 1
    assert "wrong answer" in capsys.readouterr().out
    assert verb("--exercise", "01") == 0


def test_json_is_a_list_of_verdicts_and_nothing_else(course, capsys):
    path = hand_in(course, alice="// fine", bob="// wrong", carol="")
    assert verb(path, "--json") == 0
    streams = capsys.readouterr()
    listed = json.loads(streams.out)
    assert [(item["submission"], item["points"], item["verdict"]) for item in listed] == [
        ("alice", 10.0, "full marks"),
        ("bob", 3.0, "wrong answer"),
        ("carol", 0.0, "unreadable submission: it is empty"),
    ]
    assert {"submission", "exercise", "device", "points", "max_points", "verdict"} <= listed[0].keys()
    assert {item["device"] for item in listed} == {"virtual"}
    assert {item["max_points"] for item in listed} == {10.0}
    assert Record.read(Path(listed[0]["record"])).submission == "alice"
    assert streams.err.startswith("device: virtual GPU (h200)")


def test_files_for_others_are_written(course, capsys):
    path = hand_in(course, alice="// fine", bob="// wrong")
    assert verb(path, "--csv", "grades.csv", "--html", "pages", "--output", "out") == 0
    rows = list(csv.DictReader((course / "grades.csv").open()))
    assert [row["submission"] for row in rows] == ["alice", "bob"]
    assert (course / "pages" / FIRST / "alice.html").is_file()
    assert (course / "out" / "similarity.csv").is_file()
    assert "full marks" in capsys.readouterr().out
    with pytest.raises(CourseError, match="--gradescope is for one submission; 2 were found"):
        verb(path, "--gradescope", "results.json")
    assert verb(path / "alice", "--gradescope", "results.json") == 0
    assert json.loads((course / "results.json").read_text())["score"] == 10.0
    with pytest.raises(CourseError, match="cannot be written"):
        verb(path, "--csv", "/nowhere/grades.csv")


def test_similar_submissions_are_reported(course, capsys):
    text = (Path(__file__).parent / "fake_pipeline.py").read_text().replace("// ", "")
    verb(hand_in(course, alice=text, bob=text, carol="// fine"))
    assert "1 pair of submissions are similar" in capsys.readouterr().err
    [row] = csv.DictReader((course / "grades" / "similarity.csv").open())
    assert (row["first"], row["second"], row["alike"]) == ("alice", "bob", "1.00")


def test_a_comparison_that_fails_costs_no_file_of_the_class(course, capsys, monkeypatch):
    """Records, table and pages are written before submissions are compared."""

    def fails(*_: object) -> None:
        raise MemoryError("a text that nobody thought of")

    monkeypatch.setattr(similarity, "similar_pairs", fails)
    path = hand_in(course, alice="// fine", bob="// wrong")
    assert verb(path, "--csv", "grades.csv", "--html", "pages", "--output", "out") == 0
    rows = list(csv.DictReader((course / "grades.csv").open()))
    assert [row["submission"] for row in rows] == ["alice", "bob"]
    assert (course / "pages" / "index.html").is_file()
    assert len(list((course / "out" / "records").glob("*/*.json"))) == 2
    said = capsys.readouterr().err
    assert "submissions were not compared with each other: MemoryError: a text that nobody" in said


def test_marks_from_another_device_than_the_official_one_say_so(course, capsys):
    (course / "course.toml").write_text('official_device = "gpu"\n')
    path = hand_in(course, alice="// fine")
    verb(path, "--settings", "course.toml", "--csv", "grades.csv")
    assert capsys.readouterr().out.count("not official: this course's marks are made on a GPU") >= 2
    [row] = csv.DictReader((course / "grades.csv").open())
    assert row["official"] == "no"


def test_a_grading_can_be_repeated(course, capsys):
    verb(hand_in(course, alice="// wrong"))
    record = course / "grades" / "records" / FIRST / "alice.json"
    capsys.readouterr()
    assert verb("--replay", record) == 0
    assert "the outcome is the same: wrong answer, 3 of 10 points" in capsys.readouterr().out
    changed = Record.read(record)
    changed.verdict = "full marks"
    changed.write(record)
    assert verb("--replay", record) == 1
    assert "the verdict was 'full marks' and is 'wrong answer'" in capsys.readouterr().out


def test_what_cannot_be_repeated_is_a_sentence(course, tmp_path):
    bare = dataclasses.replace(make_record(), source="", verdict="unreadable submission")
    bare.write(tmp_path / "bare.json")
    with pytest.raises(CourseError, match="holds no source to repeat"):
        verb("--replay", tmp_path / "bare.json")
    make_record(device="gpu").write(tmp_path / "gpu.json")
    with pytest.raises(CourseError, match="was made on 'gpu': leave out --device"):
        verb("--replay", tmp_path / "gpu.json")
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(CourseError, match="cannot be read|is not a grading record"):
        verb("--replay", tmp_path / "no.json")


def test_differences_are_reported_except_measured_times():
    before, after = make_record(device="gpu"), make_record(device="gpu")
    after.parts[1].points = 1.0
    after.verdict = "correct, too slow"
    assert differences(before, after) == []
    modelled, again = make_record(), make_record()
    again.parts[1].points = 1.0
    assert differences(modelled, again) == ["speed earned 5 and now earns 1"]
    wrong = make_record(right=False)
    text = " | ".join(differences(make_record(), wrong))
    assert "the case hidden 1 was passed and is failed (mismatch)" in text
    assert "the findings were none and are race at line 2" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "there is no file or folder nowhere"),
        (["exercises", "--exercise", "99"], "there is no exercise '99'"),
        (["--replay", "nowhere.json"], "there is no record nowhere.json: `./course grade` writes them"),
        (["exercises", "--settings", "nowhere.toml"], "cannot be read"),
    ],
)
def test_mistakes_are_sentences(course, arguments, sentence):
    with pytest.raises(CourseError, match=sentence):
        verb(*arguments)


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"version": 9}', '{"version": 1}', "not JSON"])
def test_a_file_that_is_no_record_is_named_in_one_sentence(course, text):
    (course / "record.json").write_text(text)
    with pytest.raises(CourseError, match=r"record\.json is not a grading record: "):
        verb("--replay", course / "record.json")
