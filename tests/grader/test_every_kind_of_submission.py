"""Submissions of every kind in one run that is killed half way: each still gets its verdict.

Of wrong kernels and cheats there are a few: tests/exercises/01_kv_store grades all of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from common.core.process import session_members
from grader.records.record import Record
from tests.waiting import wait_until

EXERCISE = "01_kv_store"
SOLUTIONS = REPOSITORY / "solutions" / EXERCISE
KERNELS = REPOSITORY / "tests" / "exercises" / EXERCISE
BAD = REPOSITORY / "tests" / "grader" / "bad_students"
# How each bad student's verdict reads.
VERDICTS = {
    "loops_on_the_host": "does not end",
    "crashes_on_the_host": "crashes",
    "aborts_while_loading": "cannot be loaded",
    "forks": "does not end",
    "eats_memory": "takes too much",
    "floods_its_output": "takes too much",
    "fills_device_memory": "wrong answer",
    "leaves_by_the_back_door": "crashes",
    "does_not_compile": "does not compile",
    "template_bomb": "does not compile",
    "wrong_name": "has no such entry point",
}
RIGHT = ("kernel", "inline_ptx")
WRONG = ("no_wait", "no_barrier", "waits_for_ever")
CHEATS = ("c2_changed_inputs", "h1_false_answers", "h2_exit", "r3_shared_memory_file")
KILL_AFTER = 8  # records
LIMIT_SECONDS = 900.0


def hand_in(folder: Path) -> list[str]:
    """A class of all of them, one who handed in the starter, and one who handed in nothing."""
    files = {f"bad_{name}": BAD / f"{name}.cu" for name in VERDICTS}
    files |= {f"right_{name}": SOLUTIONS / f"{name}.cu" for name in RIGHT}
    files |= {f"wrong_{name}": KERNELS / "wrong" / f"{name}.cu" for name in WRONG}
    files |= {f"cheat_{name}": KERNELS / "cheats" / f"{name}.cu" for name in CHEATS}
    files["late_starter"] = REPOSITORY / "exercises" / EXERCISE / "kernel.cu"
    for student, source in files.items():
        target = folder / student / EXERCISE / "kernel.cu"
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
    (folder / "empty_file" / EXERCISE).mkdir(parents=True)
    (folder / "empty_file" / EXERCISE / "kernel.cu").write_text("")
    return [*files, "empty_file"]


def start(folder: Path, output: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--output", str(output), "--json"]
    return subprocess.Popen(
        [*command, "--device", "virtual"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def records(output: Path) -> dict[str, Record]:
    return {path.stem: Record.read(path) for path in (output / "records" / EXERCISE).glob("*.json")}


@pytest.fixture(scope="module")
def graded(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[str], dict[str, Record], list[dict], set[str]]:
    folder, output = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("grades")
    students = hand_in(folder)
    first = start(folder, output)
    deadline = time.monotonic() + LIMIT_SECONDS
    while len(list((output / "records").rglob("*.json"))) < KILL_AFTER and first.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = set(records(output))
    assert KILL_AFTER <= len(kept) < len(students)
    second = start(folder, output)
    text, _ = second.communicate(timeout=LIMIT_SECONDS)
    assert second.returncode == 0
    assert wait_until(lambda: not session_members(second.pid)), "Python's own helpers take a moment to go"
    return students, records(output), json.loads(text), kept


def test_the_class_is_large_enough_to_kill_a_run(graded):
    assert len(graded[0]) > 2 * KILL_AFTER


def test_every_student_has_a_complete_record_and_a_row(graded):
    students, found, lines, _ = graded
    assert set(found) == set(students)
    assert {line["submission"] for line in lines} == set(students)
    assert all(line["verdict"] and line["max_points"] == 100 for line in lines)


def test_what_was_graded_before_the_kill_is_kept(graded):
    _, found, lines, kept = graded
    by_name = {line["submission"]: line["points"] for line in lines}
    assert all(by_name[student] == found[student].points for student in kept)


def test_right_kernels_get_full_marks_beside_all_the_others(graded):
    assert {graded[1][f"right_{name}"].points for name in RIGHT} == {100}


def test_wrong_kernels_do_not_get_full_marks(graded):
    assert all(graded[1][f"wrong_{name}"].points < 100 for name in WRONG)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_bad_student_gets_a_verdict_that_says_why(graded, name):
    record = graded[1][f"bad_{name}"]
    assert (record.verdict, record.points) == (VERDICTS[name], 0)


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(graded, name):
    assert graded[1][f"cheat_{name}"].points < 100


def test_nothing_submitted_earns_nothing(graded):
    assert graded[1]["late_starter"].points == 0
    assert graded[1]["empty_file"].points == 0
