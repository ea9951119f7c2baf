"""The same file has the same points in one class, whoever hands it in and whenever, until something changes
that points depend on."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import sys
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from grader.classes import dependencies as depended_on
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
    note = "2 records made before the secret changed: graded again (alice 01_first and bob 01_first)"
    assert note in capsys.readouterr().err


def test_of_many_stale_records_a_dozen_is_named(course, capsys):
    names = [f"s{number:02}" for number in range(15)]
    seeds_of(course, *names)
    draw_new_secret(class_run(course))
    seeds_of(course, *names)
    said = capsys.readouterr().err
    assert "15 records made before the secret changed: graded again (s00 01_first, s01 01_first, " in said
    assert "s11 01_first and 3 more)" in said


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


HERE = DeviceInfo("virtual", "h200")
A_GPU = DeviceInfo("gpu", "NVIDIA H200", "580.1")


def now(device: DeviceInfo = HERE, wall_seconds: float = 300.0, exercise: str = "01") -> dict[str, str]:
    return dependencies(
        registry.find(exercise), device, "grader.pipeline.grading:grade", wall_seconds, "seed"
    )


def edit(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    read, edited = Path.read_bytes, REPOSITORY / file
    assert edited.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"\n" if path == edited else b""))


@pytest.mark.parametrize("file", CHANGES)
def test_what_a_grade_depends_on_is_named_when_it_changes(file: str, monkeypatch: pytest.MonkeyPatch):
    before = now()
    edit(monkeypatch, file)
    assert changed(before, now()) == ([CHANGES[file]] if CHANGES[file] else [])


@pytest.mark.parametrize(("device", "named"), [(HERE, []), (A_GPU, ["the GPU's clock"])])
def test_the_clock_of_a_gpu_counts_on_a_gpu_alone(device: DeviceInfo, named: list[str], monkeypatch):
    before = now(device)
    edit(monkeypatch, "common/gpu/support.cu")
    assert changed(before, now(device)) == named


@pytest.mark.parametrize(
    ("device", "seconds", "named"),
    [
        (DeviceInfo("virtual", "b200"), 300.0, "the device"),
        (dataclasses.replace(HERE, driver="580.2"), 300.0, "the device"),
        (HERE, 400.0, "the settings"),
    ],
)
def test_another_device_and_other_settings_are_named(device: DeviceInfo, seconds: float, named: str):
    assert changed(now(), now(device, seconds)) == [named]


@pytest.mark.parametrize("find", ["find_nvcc", "find_host_compiler"])
def test_another_compiler_is_named(find: str, monkeypatch: pytest.MonkeyPatch):
    class Other:
        version = "another version"

    before = now()
    monkeypatch.setattr(depended_on, find, Other)
    assert changed(before, now()) == ["the compiler"]


@pytest.mark.parametrize(
    ("package", "exercise", "counts"),
    [("torch", "01", True), ("numpy", "01", True), ("triton", "01", False), ("triton", "03", True)],
)
def test_another_version_of_a_package_is_named_where_it_is_used(package, exercise, counts, monkeypatch):
    read, before = importlib.metadata.version, now(exercise=exercise)
    version = lambda name: "0.0.1" if name == package else read(name)  # noqa: E731
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert changed(before, now(exercise=exercise)) == (["Python or its packages"] if counts else [])


def test_another_python_is_named_and_another_build_of_torch_is_not(monkeypatch: pytest.MonkeyPatch):
    before = now()
    read = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{read(name)}+elsewhere")
    assert changed(before, now()) == []
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    assert changed(before, now()) == ["Python or its packages"]
