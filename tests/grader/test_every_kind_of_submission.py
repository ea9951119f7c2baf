"""Submissions of every kind in one run that is killed half way, as are engines, workers and compilers of it:
each still gets its verdict.

Of wrong kernels and cheats there are a few: tests/exercises/01_kv_store grades all of them. COURSE_CLASS=200
and COURSE_KILLS=50 make the class larger, with all of them, and kill more often; then every verdict must be
that of a run which nobody disturbed.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from common.core.process import session_members
from grader.records.record import Record
from grader.spec import registry
from tests.grader.killing import RUN, VICTIMS, Killer
from tests.waiting import wait_until

EXERCISE = "01_kv_store"
WRONG_KERNELS = importlib.import_module(f"tests.exercises.{EXERCISE}.wrong_kernels").WRONG
ALL_CHEATS = importlib.import_module(f"tests.exercises.{EXERCISE}.cheats").CHEATS
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
WRONG = (
    "no wait",
    "the copy of another thread without a barrier",
    "waits for a flag that no thread sets",
)
CHEATS = ("c2_changed_inputs", "h1_false_answers", "h2_exit", "r3_shared_memory_file")
STUDENTS = int(os.environ.get("COURSE_CLASS", "0"))  # 0: one for each file
KILLS = int(os.environ.get("COURSE_KILLS", "6"))
SEED = int(os.environ.get("COURSE_KILLS_SEED", "1"))


def all_files() -> dict[str, str]:
    """One of each, one who handed in the starter, and one who handed in nothing; by student."""
    everything = bool(STUDENTS)
    exercise = registry.find(EXERCISE)
    solution = exercise.solution.read_text()
    files = {f"bad_{name}": (BAD / f"{name}.cu").read_text() for name in VERDICTS}
    files |= {f"right_{name}": exercise.solution.with_stem(name).read_text() for name in RIGHT}
    for name in WRONG_KERNELS if everything else WRONG:
        files[wrong_student(name)] = WRONG_KERNELS[name].source(solution)
    files |= {f"cheat_{name}": ALL_CHEATS[name] for name in (ALL_CHEATS if everything else CHEATS)}
    return files | {"late_starter": exercise.starter.read_text(), "empty_file": ""}


def wrong_student(name: str) -> str:
    return f"wrong_{name.replace(' ', '_')}"


def hand_in(folder: Path, students: dict[str, str]) -> None:
    for student, source in students.items():
        target = folder / student / EXERCISE / "kernel.cu"
        target.parent.mkdir(parents=True)
        target.write_text(source)


def enlarged(files: dict[str, str]) -> dict[str, str]:
    """Each file from several students, until there are enough."""
    more = ((f"{student}-{number}", file) for number in itertools.count(2) for student, file in files.items())
    return files | dict(itertools.islice(more, max(0, STUDENTS - len(files))))


def start(folder: Path, output: Path) -> subprocess.Popen[str]:
    """What it prints goes to a file: nobody reads a pipe while it runs. Its temporary files have a folder of
    their own."""
    temporary_of(output).mkdir(exist_ok=True)
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--output", str(output), "--json"]
    with _printed(output).open("w") as file:
        return subprocess.Popen(
            [*command, "--device", "virtual"],
            cwd=REPOSITORY,
            env={**os.environ, "TMPDIR": str(temporary_of(output))},
            stdout=file,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


def temporary_of(output: Path) -> Path:
    return output.with_name(f"{output.name}-temporary")


def shared_memory() -> set[str]:
    """Files in it; those without a name go with the processes that hold them."""
    found = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in found if not name.startswith("sem.mp-")}


def _printed(output: Path) -> Path:
    return output.with_name(f"{output.name}.json")


def records(output: Path) -> dict[str, Record]:
    return {path.stem: Record.read(path) for path in (output / "records" / EXERCISE).glob("*.json")}


@dataclass(frozen=True)
class Graded:
    """A class after a run that was killed and went on."""

    students: dict[str, str]  # each one's source
    records: dict[str, Record]
    lines: list[dict]
    kept: dict[str, Record]  # of those whose grading was over before the run was first killed
    killed: dict[str, int]
    output: Path
    shared_before: set[str]

    def __getitem__(self, student: str) -> Record:
        return self.records[student]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder, output = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("grades")
    students = enlarged(all_files())
    hand_in(folder, students)
    rng, shared_before = random.Random(SEED), shared_memory()
    kinds = [(*VICTIMS, RUN)[number % (len(VICTIMS) + 1)] for number in range(KILLS)]
    rng.shuffle(kinds)
    kept: dict[str, Record] = {}

    def started() -> subprocess.Popen[str]:
        if not kept:
            keys = (output / "records" / EXERCISE / ".keys").glob("*")
            finished = {path.name for path in keys if path.read_text()}  # what cannot be read has none
            kept.update({name: record for name, record in records(output).items() if name in finished})
        return start(folder, output)

    killer = Killer(kinds, rng)
    last = killer.see_to_its_end(
        started, lambda: len(list((output / "records").rglob("*.json"))) / len(students)
    )
    assert last.returncode == 0
    assert wait_until(lambda: not killer.left()), f"alive after all runs: {killer.left()}"
    assert not session_members(last.pid)
    printed = json.loads(_printed(output).read_text())
    return Graded(students, records(output), printed, kept, killer.killed, output, shared_before)


def test_the_run_and_parts_of_it_were_killed(graded):
    assert graded.killed[RUN] > 0
    assert sum(graded.killed.values()) >= KILLS * 9 // 10, graded.killed
    assert 0 < len(graded.kept) < len(graded.students)


def test_nothing_is_left_of_what_was_killed(graded):
    assert {path.name for path in graded.output.iterdir()} == {
        ".lock",
        ".secret",
        "records",
        "run.jsonl",
        "similarity.csv",
    }


def test_no_scratch_folder_and_no_shared_memory_is_left(graded):
    """Of runs that were killed, the last one swept what they left, but for what Python's own multiprocessing
    names: a folder for its socket, and semaphores, which others on this machine may have as well."""
    names = [path.name for path in temporary_of(graded.output).iterdir()]
    assert [name for name in names if not name.startswith("pymp-")] == []
    assert wait_until(lambda: shared_memory() <= graded.shared_before), shared_memory()


@pytest.mark.skipif(not STUDENTS, reason="takes as long as grading everything twice: set COURSE_CLASS")
def test_every_verdict_is_that_of_a_run_which_nobody_disturbed(graded, tmp_path):
    files = all_files()
    hand_in(tmp_path / "class", files)
    (tmp_path / "grades").mkdir()
    shutil.copy(graded.output / ".secret", tmp_path / "grades" / ".secret")
    assert start(tmp_path / "class", tmp_path / "grades").wait() == 0
    expected = records(tmp_path / "grades")
    differing = {
        student: (record.verdict, record.points, expected[student.partition("-")[0]].verdict)
        for student, record in graded.records.items()
        for wanted in [expected[student.partition("-")[0]]]
        if (record.verdict, record.points) != (wanted.verdict, wanted.points)
    }
    assert differing == {}


def test_every_student_has_a_complete_record_and_a_row(graded):
    assert set(graded.records) == set(graded.students)
    assert {line["submission"] for line in graded.lines} == set(graded.students)
    assert all(line["verdict"] and line["max_points"] == 100 for line in graded.lines)


def test_what_was_graded_before_the_kill_is_kept(graded):
    for student, record in graded.kept.items():
        assert graded[student].started == record.started


def test_right_kernels_get_full_marks_beside_all_the_others(graded):
    assert {graded[f"right_{name}"].points for name in RIGHT} == {100}


def test_wrong_kernels_do_not_get_full_marks(graded):
    assert all(graded[wrong_student(name)].points < 100 for name in WRONG)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_bad_student_gets_a_verdict_that_says_why(graded, name):
    record = graded[f"bad_{name}"]
    assert (record.verdict, record.points) == (VERDICTS[name], 0)


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(graded, name):
    assert graded[f"cheat_{name}"].points < 100


def test_nothing_submitted_earns_nothing(graded):
    assert graded["late_starter"].points == 0
    assert graded["empty_file"].points == 0
