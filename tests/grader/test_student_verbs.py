"""The student's loop: list, start, check, hint, profile."""

from __future__ import annotations

import dataclasses
import importlib
import json
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.virtual_gpu.report import Counters, LineCounters, Report
from grader.actions import profile as profile_run
from grader.cli import main
from grader.cli.student import check, hint, measure, profile, start
from grader.cli.student import list as listing
from grader.course import student
from grader.records.record import Record
from grader.render.profile import profile_text
from grader.spec import registry
from tests.grader.course_fixtures import FIRST, course
from tests.grader.fake_pipeline import make_record
from tests.grader.notebook.seen_fixtures import launch

__all__ = ["course"]

SOLUTION = registry.find("01").solution.read_text()
WRONG = importlib.import_module("tests.exercises.01_kv_store.wrong_kernels").WRONG


def graded_as(monkeypatch: pytest.MonkeyPatch, record: Record) -> None:
    monkeypatch.setattr("grader.pipeline.grading.grade", lambda *arguments, **options: record)


def test_start_copies_and_never_overwrites(course, capsys):
    assert start.main(["01"]) == 0
    mine = course / "work" / FIRST / "kernel.cu"
    assert mine.read_text() == (course / "exercises" / FIRST / "kernel.cu").read_text()
    assert (mine.parent / "README.md").is_file()
    mine.write_text("my own")
    assert start.main(["first"]) == 0
    assert mine.read_text() == "my own"
    assert f"kept  work/{FIRST}/kernel.cu (it was there already)" in capsys.readouterr().out


def test_the_untouched_starter_shows_what_to_do_next(course, capsys):
    assert check.main(["01", "--device", "virtual"]) == 1
    shown = capsys.readouterr().out
    assert f"exercises/{FIRST}/kernel.cu:3  TODO 1: write the thread's number" in shown
    assert "`./course start 01`" in shown
    assert shown.rstrip().splitlines()[-1].startswith("Correctness: FAILED")
    start.main(["01"])
    capsys.readouterr()
    assert check.main(["01", "--device", "virtual", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    [task] = printed["todos"]
    assert task == {"line": 3, "text": "TODO 1: write the thread's number"}


def test_a_right_kernel_ends_with_the_four_lines(course, capsys, monkeypatch):
    graded_as(monkeypatch, make_record())
    (course / "mine.cu").write_text("__global__ void kernel() {}")
    assert check.main(["01", "mine.cu", "--device", "virtual"]) == 0
    assert capsys.readouterr().out.rstrip().splitlines()[-4:] == [
        "Correctness: PASSED",
        "Baseline performance: 13.00 us (modelled, one call, cold L2; 1.291 TB/s at 4096 tokens)",
        "Optimized performance: 10.00 us (modelled, one call, cold L2; 1.678 TB/s, "
        "1.30 x at 4096 tokens alone)",
        "Speedup: 1.44 x (modelled, speedup over the baseline, 7 cases: met, passes at 1.15, full marks at "
        "1.40)",
    ]


def test_the_last_line_is_the_first_target_that_is_short_of_full_marks(course, capsys, monkeypatch):
    record = make_record()
    assert record.speed is not None
    (met,) = record.speed.targets
    missed = dataclasses.replace(
        met, name="speedup over torch, 2 cases", decision="missed", earned=0.0, value=0.9
    )
    record.speed.targets = [met, missed, met]
    graded_as(monkeypatch, record)
    (course / "mine.cu").write_text("__global__ void kernel() {}")
    check.main(["01", "mine.cu", "--device", "virtual"])
    assert capsys.readouterr().out.rstrip().splitlines()[-1] == (
        "Speedup: 0.90 x (modelled, speedup over torch, 2 cases: missed, no points, passes at 1.15, "
        "full marks at 1.40; 2 other targets, with full marks)"
    )


def test_a_baseline_that_was_measured_is_not_called_modelled(course, capsys, monkeypatch):
    record = make_record()
    assert record.speed is not None
    for case in record.speed.cases:
        case.baseline_measured_on = "NVIDIA H200"
    graded_as(monkeypatch, record)
    (course / "mine.cu").write_text("__global__ void kernel() {}")
    check.main(["01", "mine.cu", "--device", "virtual"])
    baseline, optimized = capsys.readouterr().out.rstrip().splitlines()[-3:-1]
    assert baseline.startswith("Baseline performance: 13.00 us (measured on NVIDIA H200, one call, cold L2;")
    assert optimized.startswith("Optimized performance: 10.00 us (modelled, one call, cold L2;")


def test_measured_times_are_not_called_modelled(course, capsys, monkeypatch):
    graded_as(monkeypatch, make_record(device="gpu"))
    (course / "mine.cu").write_text("__global__ void kernel() {}")
    check.main(["01", "mine.cu", "--device", "virtual"])
    assert "modelled" not in "".join(capsys.readouterr().out.splitlines()[-4:])


def test_a_wrong_kernel_shows_the_case_the_findings_and_open_tasks(course, capsys, monkeypatch):
    graded_as(monkeypatch, make_record(right=False))
    (course / "mine.cu").write_text("// TODO 2: wait\n__global__ void kernel() {}")
    assert check.main(["01", "mine.cu", "--device", "virtual"]) == 1
    shown = capsys.readouterr().out
    for words in ("hidden 1 (tokens 77):\n  off", "race", "mine.cu:1  TODO 2: wait"):
        assert words in shown
    assert shown.rstrip().splitlines()[-1] == "Correctness: FAILED (wrong answer)"
    assert "speed" not in shown, "nobody asks how fast a wrong answer is"


def test_a_kernel_that_does_not_compile_shows_the_compilers_words(course, capsys, monkeypatch):
    diagnostic = {
        "severity": "error",
        "file": "/a/kernel.cu",
        "line": 3,
        "column": 5,
        "message": "expected a ;",
    }
    broken = dataclasses.replace(
        make_record(), verdict="does not compile", cases=[], diagnostics=[diagnostic]
    )
    graded_as(monkeypatch, broken)
    (course / "mine.cu").write_text("int")
    assert check.main(["01", "mine.cu", "--device", "virtual"]) == 1
    shown = capsys.readouterr().out
    assert "kernel.cu:3:5: error: expected a ;" in shown
    assert shown.rstrip().endswith("Correctness: FAILED (does not compile)")


def test_check_as_json_has_no_seed(course, capsys, monkeypatch):
    graded_as(monkeypatch, make_record())
    (course / "mine.cu").write_text("int x;")
    check.main(["01", "mine.cu", "--device", "virtual", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert (printed["verdict"], printed["seed"], printed["todos"]) == ("full marks", "", [])


def test_check_prefers_the_students_own_copy(course, monkeypatch):
    exercise = registry.find("01")
    assert student.own_file(exercise, None) == exercise.starter
    assert not student.has_begun(exercise)
    start.main(["01"])
    assert student.own_file(exercise, None) == course / "work" / FIRST / "kernel.cu"
    assert student.has_begun(exercise)
    with pytest.raises(CourseError, match="there is no file nowhere.cu"):
        student.own_file(exercise, Path("nowhere.cu"))
    (course / "empty.cu").write_text("")
    with pytest.raises(CourseError, match="empty.cu cannot be checked: it is empty"):
        check.main(["01", "empty.cu", "--device", "virtual"])


def test_list_shows_what_was_begun_and_how_the_last_check_went(course, capsys, monkeypatch):
    start.main(["01"])
    (course / "work" / FIRST / "kernel.cu").write_text("int x;")
    graded_as(monkeypatch, make_record(right=False))
    check.main(["01", "--device", "virtual"])
    capsys.readouterr()
    assert listing.main([]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:4]
    assert "The first exercise" in first
    assert "yes      wrong answer, 3/10 on virtual" in first
    assert "no       –" in second
    assert listing.main(["--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(item["exercise"], item["started"]) for item in printed] == [(FIRST, True), ("02_second", False)]


def test_the_list_tells_the_kernels_points_from_the_notebooks(capsys):
    assert listing.notebook_points(registry.find("01")) == 145
    assert listing.main([]) == 0
    heading, _, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[2:4] == ["kernel", "notebook"]
    assert first.split("cache")[1].split()[:2] == ["100", "145"]


def test_a_start_brings_every_file_that_the_exercise_asks_to_fill_in(tmp_path, monkeypatch):
    monkeypatch.setattr(student, "WORK", tmp_path)
    copied, _ = student.start(registry.find("03"))
    assert {"kernel.cu", "answers.toml", "faults.py", "lazy_streams.py"} <= {path.name for path in copied}


def test_a_measurement_is_refused_where_nothing_is_asked_and_before_the_start(tmp_path, monkeypatch):
    with pytest.raises(CourseError, match="asks nothing that has to be measured"):
        measure.main(["01"])
    monkeypatch.setattr(student, "WORK", tmp_path)
    with pytest.raises(CourseError, match="`./course start 03` makes it"):
        measure.main(["03"])


def test_hints_open_one_at_a_time(course, capsys):
    with pytest.raises(CourseError, match="no hint of 01_first is open yet"):
        hint.main(["01", "--again"])

    def shown(*arguments: str) -> str:
        assert hint.main(["01", *arguments]) == 0
        return capsys.readouterr().out

    assert shown() == "Hint 1 of 2:\n  Think.\n"
    assert shown("--again") == "Hint 1 of 2:\n  Think.\n"
    assert shown() == "Hint 2 of 2:\n  Think again.\n"
    assert "All 2 hints are open" in shown()
    assert shown("--again").count("Hint") == 2


def test_a_damaged_state_file_is_ignored(course, capsys):
    for content in ("not json", "[]", '{"opened": "x"}', '{"opened": -5}'):
        (course / "work" / ".state").mkdir(parents=True, exist_ok=True)
        (course / "work" / ".state" / f"{FIRST}.hints.json").write_text(content)
        hint.main(["01"])
        assert "Hint 1 of 2" in capsys.readouterr().out


def test_state_finds_another_place_where_the_course_cannot_be_written(course, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (course / "work").write_text("a file, so that no folder can be made here")
    exercise = registry.find("01")
    student.write_state(exercise, "hints", {"opened": 1})
    assert student.read_state(exercise, "hints") == {"opened": 1}
    with pytest.raises(CourseError, match="cannot be filled"):
        start.main(["01"])


def test_profile_shows_costs_beside_the_source_and_draws_them(course, capsys, monkeypatch):
    (course / "mine.cu").write_text("int a;\nint b;\n")
    made = launch() | {
        "occupancy": {"blocks_per_sm": 16, "warps_per_sm": 32, "fraction": 0.5, "limiter": "registers"},
        "cost": {"limiter": "dram", "sentence": "memory bounds it", "terms": {"dram": 2e-6, "issue": 1e-6}},
    }
    report = Report.from_dict({"launches": [made]})
    lines = (
        LineCounters(
            "/x/mine.cu", 2, Counters(global_load_requests=2, global_load_sectors=8, warp_instructions=5)
        ),
    )
    report = dataclasses.replace(report, launches=(dataclasses.replace(report.launches[0], lines=lines),))
    asked = []

    def profiled(exercise, source, case, *, card):
        asked.append(case.name)
        return profile_run.Profile(report, 3e-6, 2e-6, wrong="K[0] is 1, expected 2")

    monkeypatch.setattr(profile, "profile", profiled)
    monkeypatch.setenv("COLUMNS", "120")  # a terminal on which no sentence below is broken
    assert profile.main(["01", "mine.cu", "--plot", "out.png"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "50% (registers)",
        "memory bounds it",
        "dram 2 us",
        "8             5  int b;",
        "load 2 × 4.0 sectors",
        "modelled: 3 us alone from a cold L2, the way `check` times it; 2 us in a graph of many calls",
        "its answer is WRONG here, so the figures below may mislead: K[0] is 1, expected 2",
    ):
        assert words in shown
    assert (course / "out.png").read_bytes().startswith(b"\x89PNG")
    profile.main(["01", "mine.cu", "--case", "64 tokens", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["case"] == "64 tokens"
    assert asked == ["4096 tokens", "64 tokens"]
    with pytest.raises(CourseError, match="no bench case 'huge' .*there are: 64 tokens; 4096 tokens"):
        profile.main(["01", "mine.cu", "--case", "huge"])


def test_every_verb_can_answer_as_json(course, capsys):
    def printed(*arguments: str) -> dict[str, object]:
        assert main(list(arguments)) == 0
        answer = json.loads(capsys.readouterr().out)
        assert isinstance(answer, dict)
        return answer

    assert len(printed("start", "01", "--json")["made"]) == 2  # type: ignore[arg-type]
    assert printed("hint", "01", "--json")["hints"] == [{"number": 1, "text": "Think."}]
    assert printed("hint", "01", "--again", "--json")["of"] == 2
    assert printed("starters", "--check", "--json") == {"drifted": []}


@pytest.mark.parametrize(
    ("kernel", "sentences"),
    [
        (
            WRONG["offsets of 32 bits"].source(SOLUTION),
            ("returned cudaErrorIllegalAddress", "overflowing.cu:", "`./course check 01` finds"),
        ),
        (
            (REPOSITORY / "tests/grader/bad_students/crashes_on_the_host.cu").read_text(),
            ("SIGSEGV", "`./course check 01` finds"),
        ),
    ],
    ids=["on the device", "on the host"],
)
def test_a_profile_of_a_call_that_fails_names_the_line_and_the_next_step(kernel, sentences, tmp_path):
    exercise = registry.find("01")
    source = tmp_path / "overflowing.cu"
    source.write_text(kernel)
    far = next(case for case in exercise.cases if case.sizes["first_page"] > 0)
    with pytest.raises(CourseError) as problem:
        profile_run.profile(exercise, source, far)
    for sentence in sentences:
        assert sentence in str(problem.value)


def test_a_profile_says_whether_the_answer_is_right(tmp_path):
    exercise = registry.find("01")
    case = next(case for case in exercise.bench if not case.gpu_only)
    swapped = tmp_path / "kernel.cu"
    swapped.write_text(WRONG["K and V swapped"].source(SOLUTION))
    assert "expected" in profile_run.profile(exercise, swapped, case).wrong
    right = profile_run.profile(exercise, exercise.solution, case)
    assert right.wrong == ""
    assert 0 < right.seconds_in_a_graph < right.seconds


def test_a_call_that_launches_nothing_has_no_profile(tmp_path):
    assert "no kernel was launched" in profile_text(Report(), tmp_path / "kernel.cu")
