"""The same file has the same points in one class, whoever hands it in and whenever, until something changes
that points depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from grader.classes.class_run import SECRET, draw_new_secret, grade_all
from grader.classes.dependencies import changed, dependencies
from grader.records.device_info import DeviceInfo
from grader.spec import registry
from tests.grader.course_fixtures import course
from tests.grader.test_class_run import class_run, submit

__all__ = ["course"]


def seeds_of(course: Path, *students: str) -> set[str]:
    records = grade_all(class_run(course), [submit(course, student, "// fine") for student in students])
    return {record.seed for record in records}


def test_everybody_in_a_class_gets_the_same_hidden_cases(course):
    assert len(seeds_of(course, "alice", "bob") | seeds_of(course, "late")) == 1


def test_exercises_and_classes_have_different_hidden_cases(course, tmp_path):
    here, elsewhere = class_run(course), class_run(course, output=tmp_path / "other class")
    seeds = {here.seed_of("01_first"), here.seed_of("02_second"), elsewhere.seed_of("01_first")}
    assert len(seeds) == 3


def test_nobody_else_can_read_the_secret(course):
    seeds_of(course, "alice")
    assert (course / "grades" / SECRET).stat().st_mode & 0o777 == 0o600


def test_a_new_secret_grades_everything_again_and_says_why(course, capsys):
    before = seeds_of(course, "alice", "bob")
    draw_new_secret(class_run(course))
    assert seeds_of(course, "alice", "bob").isdisjoint(before)
    assert "2 records made before the secret changed: graded again" in capsys.readouterr().err


def test_a_grader_that_breaks_is_tried_twice_and_the_record_keeps_the_seed(course, tmp_path):
    run, mark = class_run(course), tmp_path / "mark"
    [record] = grade_all(run, [submit(course, "alice", f"// mark: {mark} \n// fail")])
    assert mark.read_text() == "xx"
    assert record.seed == run.seed_of(record.exercise)
    assert "tried twice" in record.flags[0]


# A file, and what is named when it changes: nothing where no grade depends on it.
CHANGES = {
    "grader/pipeline/judging/cases.py": "the grader",
    "grader/timing/modelled/model.py": "the grader",
    "common/worker/python_script.py": "the grader",
    "common/sandbox/walls.py": "the grader",
    "common/virtual_gpu/engine/exec/atomics.cpp": "the virtual GPU",
    "common/virtual_gpu/runtime/launch.cpp": "the virtual GPU",
    "common/virtual_gpu/profiles.json": "the virtual GPU",
    "common/cuda/mma.cuh": "the course's headers",
    "common/measured/virtual-h200.json": "the model's margins",
    "exercises/01_kv_store/exercise.py": "the exercise",
    "exercises/01_kv_store/baseline.cu": "the exercise",
    "exercises/01_kv_store/README.md": "",
    "exercises/02_fused_copy/exercise.py": "",
    "grader/render/terminal.py": "",
    "grader/cli/instructor/grade.py": "",
    "grader/nbgrader/feedback.py": "",
}


@pytest.mark.parametrize("file", CHANGES)
def test_what_a_grade_depends_on_is_named_when_it_changes(file: str, monkeypatch: pytest.MonkeyPatch):
    def now() -> dict[str, str]:
        exercise, device = registry.find("01"), DeviceInfo("virtual", "h200")
        return dependencies(exercise, device, "grader.pipeline.grading:grade", 300.0, "seed")

    before, read = now(), Path.read_bytes
    edited = REPOSITORY / file
    assert edited.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"\n" if path == edited else b""))
    assert changed(before, now()) == ([CHANGES[file]] if CHANGES[file] else [])
