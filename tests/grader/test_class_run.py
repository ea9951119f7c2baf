"""A class is graded to its end: records are complete whatever a submission does and however a run is
killed."""

from __future__ import annotations

import dataclasses
import importlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.files import PARTIAL
from common.core.paths import REPOSITORY
from grader.classes import grading_process
from grader.classes.class_run import UNGRADED, ClassRun, grade_all
from grader.classes.submissions import Submission
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import registry
from tests.grader.course_fixtures import FIRST, GRADER, course
from tests.waiting import LONG, wait_until

__all__ = ["course"]

WRONG = importlib.import_module("tests.exercises.01_kv_store.wrong_kernels").WRONG


def class_run(course: Path, **changes: object) -> ClassRun:
    run = ClassRun(
        device=DeviceInfo("virtual", "h200"),
        exercises={exercise.id: exercise for exercise in registry.all_exercises()},
        output=course / "grades",
        wall_seconds=30.0,
        grader=GRADER,
    )
    return dataclasses.replace(run, **changes)  # type: ignore[arg-type]


def submit(course: Path, student: str, text: str) -> Submission:
    path = course / "handed-in" / f"{student}.cu"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return Submission(student, FIRST, path)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_every_submission_gets_its_verdict_whatever_the_others_do(course, capfd):
    submissions = [
        submit(course, "good", "// fine"),
        submit(course, "wrong", "// wrong"),
        submit(course, "hanging", "// hang"),
        submit(course, "killed", "// die"),
        submit(course, "broken", "// fail"),
        submit(course, "empty", ""),
        Submission("lost", "", course / "lost.cu", "its exercise is not known"),
        submit(course, "late", "// slow"),
    ]
    records = grade_all(class_run(course, wall_seconds=4.0, jobs=2), submissions)
    verdicts = {record.submission: record.verdict for record in records}
    assert verdicts == {
        "good": "full marks",
        "wrong": "wrong answer",
        "hanging": UNGRADED,
        "killed": UNGRADED,
        "broken": UNGRADED,
        "empty": "unreadable submission: it is empty",
        "lost": "unreadable submission: its exercise is not known",
        "late": "full marks",
    }
    flags = {record.submission: " ".join(record.flags) for record in records}
    assert "took longer than 4 s of CPU time and sleep and was stopped" in flags["hanging"]
    assert "killed by signal 9" in flags["killed"]
    assert "RuntimeError: the grader itself is broken" in flags["broken"]
    assert not flags["good"]
    paths = sorted((course / "grades" / "records").rglob("*.json"))
    assert sorted(Record.read(path).submission for path in paths) == sorted(verdicts)
    assert not (course / "grades" / ".scratch").exists()
    printed = capfd.readouterr().err
    assert "[6/6]" in printed
    assert "left)" in printed


@pytest.mark.parametrize(
    ("kernel", "shown"),
    [
        ((REPOSITORY / "tests/grader/bad_students/does_not_compile.cu").read_text(), "diagnostics"),
        (WRONG["no wait"].source(registry.find("01").solution.read_text()), "findings"),
    ],
    ids=["a compiler's complaint", "a finding"],
)
def test_a_record_names_the_file_that_was_handed_in_and_no_place_of_ours(
    tmp_path, monkeypatch, kernel, shown
):
    exercise = registry.find("01")
    run = ClassRun(DeviceInfo("virtual", "h200"), {exercise.id: exercise}, Path("grades"))
    monkeypatch.chdir(tmp_path)  # where the output is asked for as a relative path
    source = tmp_path / "kernel.cu"
    source.write_text(kernel)
    [record] = grade_all(run, [Submission("alice", exercise.id, source)])
    places = getattr(record, shown)
    assert places
    assert {item["file"] for item in [*places, *record.lines]} == {"kernel.cu"}
    assert ".scratch" not in (tmp_path / "grades" / "records" / exercise.id / "alice.json").read_text()


def test_variables_that_hold_paths_mean_the_same_in_the_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_CACHE", "here/cache")
    monkeypatch.setenv("CXX", "g++")
    (tmp_path / "scratch").mkdir()
    grading_process._move_to(tmp_path / "scratch")
    assert os.environ["COURSE_CACHE"] == str(tmp_path / "here" / "cache")
    assert os.environ["CXX"] == "g++"
    assert Path.cwd() == tmp_path / "scratch"


def test_what_a_dead_grading_left_running_is_ended(course, tmp_path):
    noted = tmp_path / "pid"
    records = grade_all(class_run(course), [submit(course, "eve", f"// orphan: {noted} \n")])
    assert records[0].verdict == UNGRADED
    assert wait_until(lambda: not alive(int(noted.read_text())))


def test_a_second_run_keeps_what_was_graded_from_the_same_bytes(course, tmp_path):
    mark = tmp_path / "mark"

    def graded_again(change: dict[str, object], text: str = "") -> bool:
        before = len(mark.read_text()) if mark.exists() else 0
        [record] = grade_all(
            class_run(course, **change), [submit(course, "alice", f"// mark: {mark} \n{text}")]
        )
        assert record.verdict == "full marks"
        return len(mark.read_text()) > before

    assert graded_again({})
    assert not graded_again({})
    assert graded_again({"fresh": True})
    assert graded_again({}, "// another")
    assert graded_again({"wall_seconds": 29.0}, "// another")
    (course / "exercises" / FIRST / "baseline.cu").write_text("// a new baseline")
    assert graded_again({"wall_seconds": 29.0}, "// another")
    [path] = (course / "grades" / "records").rglob("*.json")
    path.write_text(path.read_text()[:100])
    assert graded_again({"wall_seconds": 29.0}, "// another"), "half a record is none"


def test_on_a_gpu_submissions_take_turns(course, tmp_path):
    marks = [tmp_path / f"mark{number}" for number in range(2)]
    submissions = [submit(course, f"s{n}", f"// mark: {mark} \n// slow") for n, mark in enumerate(marks)]
    grade_all(class_run(course, device=DeviceInfo("gpu", "some card")), submissions)
    first, second = (mark.stat().st_mtime for mark in marks)
    assert second - first >= 1.4, "the second began after the first had ended"


def test_two_runs_do_not_share_a_folder(course):
    import fcntl

    (course / "grades").mkdir()
    with (course / "grades" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CourseError, match="another run is grading into"):
            grade_all(class_run(course), [submit(course, "alice", "// fine")])


def test_a_folder_that_cannot_be_written_is_a_sentence(course):
    (course / "grades").write_text("a file")
    with pytest.raises(CourseError, match="cannot be written.*--output"):
        grade_all(class_run(course), [submit(course, "alice", "// fine")])


SCRIPT = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from grader.classes import grading_process
    from grader.spec import registry
    from grader.classes.class_run import ClassRun, grade_all
    from grader.records.device_info import DeviceInfo
    from grader.classes.submissions import Submission

    if __name__ == "__main__":
        course = Path(sys.argv[1])
        registry.EXERCISES = course / "exercises"
        run = ClassRun(
            DeviceInfo("virtual", "h200"),
            {exercise.id: exercise for exercise in registry.all_exercises()},
            course / "grades",
            grader="tests.grader.fake_pipeline:grade",
            jobs=2,
        )
        files = sorted((course / "handed-in").iterdir())
        for record in grade_all(run, [Submission(path.stem, "01_first", path) for path in files]):
            print(record.submission, record.verdict)
    """
)


def test_a_run_killed_between_a_record_and_its_key_leaves_no_record_of_another_file(course, monkeypatch):
    run, right = class_run(course), submit(course, "s", "// fine")
    grade_all(run, [right])
    wrong = submit(course, "s", "// wrong")
    with monkeypatch.context() as patch:
        patch.setattr("grader.classes.class_run.write_whole", _killed)
        with pytest.raises(KeyboardInterrupt):
            grade_all(run, [wrong])
    assert Record.read(run.record_path(wrong)).verdict == "wrong answer"
    [record] = grade_all(run, [submit(course, "s", "// fine")])
    assert record.verdict == "full marks"


def _killed(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_stopped_half_way_is_resumed(course, tmp_path, number):
    script, mark = tmp_path / "run.py", tmp_path / "mark"
    script.write_text(SCRIPT)
    for index in range(8):
        submit(course, f"s{index}", f"// mark: {mark} \n// slow {index}")
    command = [sys.executable, str(script), str(course)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    records = course / "grades" / "records" / FIRST
    with subprocess.Popen(
        command, env=environment, cwd=REPOSITORY, stderr=subprocess.DEVNULL, start_new_session=True
    ) as first:
        assert wait_until(lambda: len(list(records.glob("*.json"))) >= 3)
        first.send_signal(number)
    done = len(list((records / ".keys").glob("s*")))  # a record without its key is made again
    assert 2 <= done < 8
    assert all(Record.read(path).verdict == "full marks" for path in records.glob("*.json"))
    assert wait_until(lambda: not _working_in(course)), "gradings of a killed run are gone soon after it"
    graded = len(mark.read_text())
    second = subprocess.run(
        command,
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=10 * LONG,
    )
    assert second.stdout.splitlines() == [f"s{index} full marks" for index in range(8)]
    assert len(mark.read_text()) - graded == 8 - done, "only what was missing is graded"
    assert not list((course / "grades").rglob(f"{PARTIAL}*"))


def _working_in(course: Path) -> list[str]:
    """Processes that have a file of the run's scratch folder open."""
    found = []
    for process in Path("/proc").glob("[0-9]*/fd/1"):
        try:
            if str(course / "grades" / ".scratch") in os.readlink(process):
                found.append(process.parts[2])
        except OSError:
            continue
    return found
