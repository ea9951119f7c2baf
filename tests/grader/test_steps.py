"""Steps, calls that must be refused and tables in host memory, with a tiny exercise on the virtual GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.cli.student import check
from grader.course.settings import Settings, choose_device
from grader.pipeline.grading import grade
from grader.records.record import Record
from tests.grader.course_fixtures import use_course
from tests.grader.stepped_exercise import EXERCISE, FOLDER, SOLUTION
from tests.made_source import made_source

WITHOUT_SPEED = ("build", "correctness", "checks", "mechanism")


def graded(*changes: tuple[str, str], step: int | None = None) -> Record:
    """The solution with some of its text replaced."""
    text = SOLUTION.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    source = made_source("kernel.cu", text)
    return grade(
        EXERCISE, source, submission="x", device="virtual", stages=WITHOUT_SPEED, quick=False, step=step
    )


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def part(record: Record, name: str) -> str:
    return next(part.message for part in record.parts if part.name == name)


def test_a_setting_has_it_graded_for_another_card():
    device = choose_device("virtual", Settings(profile="a100"))
    record = grade(EXERCISE, SOLUTION, submission="x", device=device, quick=True)
    assert (record.verdict, record.device.name) == ("full marks", "a100")
    assert record.speed is not None
    assert record.speed.notes[0].startswith("modelled for NVIDIA A100-SXM4-80GB, many calls in a CUDA graph")
    assert record.speed.notes[0].endswith("it was never compared with such a card")


def test_the_solution_earns_everything_on_the_virtual_gpu():
    record = grade(EXERCISE, SOLUTION, submission="x", device="virtual")
    assert record.verdict == "full marks"
    assert record.points == record.max_points == EXERCISE.max_points == 100
    assert [part.name for part in record.parts][:3] == ["one copy", "one copy again", "correct"]
    assert {case.step for case in record.cases} == {"", "one copy", "one copy again"}
    assert record.speed is not None
    assert [case.protocol for case in record.speed.cases] == ["graph", "graph"]
    assert any("on a GPU only: speedup over copy_ for each" in note for note in record.speed.notes)


def test_a_record_with_steps_can_be_read_again():
    record = graded()
    assert Record.from_dict(record.to_dict()) == record


def test_a_missing_step_costs_its_own_points_alone():
    record = graded(('extern "C" int copy_again', "static int copy_again"))
    assert points(record) == {**points(graded()), "one copy again": 0.0}
    assert part(record, "one copy again") == "this step has no entry `copy_again` in your file yet"
    assert record.verdict == "correct, steps missing"


def test_a_wrong_step_is_explained_and_the_rest_still_counts():
    record = graded(("  return copy_one(source, target, count, stream);", "  return cudaSuccess;"))
    assert points(record)["one copy again"] == 0
    assert points(record)["correct"] == EXERCISE.points.correct
    failed = [case for case in record.cases if not case.passed]
    assert {case.step for case in failed} == {"one copy again"}
    assert "Nothing was written" in failed[0].message


def test_a_wrong_exercise_leaves_the_steps_their_points():
    record = graded(("if (i < row.count) row.target", "if (i + 1 < row.count) row.target"))
    assert record.verdict == "wrong answer"
    assert points(record)["one copy"] == 5
    assert points(record)["one copy again"] == 15


def test_a_step_with_a_finding_earns_nothing():
    record = graded(("if (i < count) target[i] = source[i];", "target[i] = source[i];"))
    assert points(record)["one copy"] == 0
    assert points(record)["correct"] == EXERCISE.points.correct


def test_a_step_must_be_done_as_asked():
    twice = "  copy_one(source, target, count, stream);\n  return copy_one(source, target, count, stream);"
    record = graded(("  return copy_one(source, target, count, stream);", twice))
    assert "right, but not as asked: 2 kernel launches" in part(record, "one copy again")


def test_what_must_be_refused_and_is_not_fails():
    record = graded(("if (rows > kMost) return cudaErrorInvalidValue;", "if (rows > kMost) rows = kMost;"))
    failed = [case for case in record.cases if not case.passed]
    assert [case.name for case in failed] == ["too many"]
    assert "must refuse this with cudaErrorInvalidValue (1)" in failed[0].message
    assert record.verdict == "accepts what it must refuse"


def test_a_refusal_changes_nothing():
    late = (
        "copy<<<1, 1, 0, stream>>>(table[0].source, table[0].target, 1);\n    return cudaErrorInvalidValue;"
    )
    record = graded(
        ("if (rows > kMost) return cudaErrorInvalidValue;", f"if (rows > kMost) {{\n    {late}\n  }}"),
    )
    failed = [case for case in record.cases if not case.passed]
    assert [case.name for case in failed] == ["too many"]
    assert "a call that is refused changes nothing" in failed[0].message


def test_refusing_everything_earns_nothing():
    record = graded(("if (rows > kMost) return", "return"))
    assert points(record)["correct"] == 0


def test_one_step_can_be_graded_alone():
    record = graded(step=2)
    assert points(record) == {"one copy again": 15}
    assert record.verdict == "full marks"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "course"
    shutil.copytree(FOLDER / "exercise", root / "exercises" / "01_steps")
    return use_course(root, monkeypatch)


def test_check_shows_the_steps_as_progress(course: Path, capsys: pytest.CaptureFixture[str]):
    source = course / "mine.cu"
    source.write_text(SOLUTION.read_text().replace('extern "C" int copy_again', "static int copy_again"))
    assert check.main(["01", str(source), "--device", "virtual", "--step", "2"]) == 1
    shown = " ".join(capsys.readouterr().out.split())  # a narrow terminal wraps it
    assert "this step has no entry `copy_again` in your file yet" in shown
    assert check.main(["01", str(source), "--device", "virtual", "--step", "1"]) == 0
    shown = capsys.readouterr().out
    assert "one copy" in shown
    assert "one copy again" not in shown


def test_a_step_that_is_not_there_is_named(course: Path):
    source = course / "mine.cu"
    shutil.copy(SOLUTION, source)
    words = r"has no step 3: its steps are 1 \(one copy\), 2 \(one copy again\), .*; leave the step out"
    with pytest.raises(CourseError, match=words):
        check.main(["01", str(source), "--step", "3"])
