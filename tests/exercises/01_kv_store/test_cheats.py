"""Cheats against exercise 01 on the virtual GPU: none earns a point that its kernel does not deserve.

A cheat says in its first line what it may earn at most: see cheats.py. Those that need a real clock are
graded in tests/gpu, too.

Cheats that keep to their entry point and to the device and earn nothing are compiled many to a file. One that
works on the process, the grader or the library as a whole has a file of its own, as a student's would. So has
one that gets as far as the speed: there it is held against the baseline, under the same name.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.building.build import kernel_resources
from grader.devices import device
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual import session as virtual
from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import registry
from tests.exercises.sections import write_rounds

EXERCISE = registry.find("01")
cheats = importlib.import_module("tests.exercises.01_kv_store.cheats")
CHEATS: dict[str, str] = cheats.CHEATS
may_earn: Callable[[str], dict[str, float]] = cheats.may_earn
SEED = "the seed of the tests"  # with some others, a hidden case has the size of a public one
BEYOND_THEIR_ENTRY = ("h", "t5")  # how their names begin
EACH = 8  # of those that need no file of their own
RecordOf = Callable[[str], Record]
PR_SET_CHILD_SUBREAPER = 36
COMPILE_AHEAD = (VirtualDevice.compile.__name__, kernel_resources.__name__)  # threads are named so


def graded(source: Path, stages: tuple[str, ...] | None = None) -> Record:
    return grade(EXERCISE, source, submission=source.stem, device="virtual", seed=SEED, stages=stages)


@pytest.fixture(scope="module")
def record_of(tmp_path_factory: pytest.TempPathFactory) -> RecordOf:
    """A cheat graded in full, once for all tests that look at it."""
    folder = tmp_path_factory.mktemp("cheats")
    texts = {name: text for name, text in CHEATS.items() if not stands_alone(name)}
    sections = write_rounds(texts, folder, EACH)

    @functools.cache
    def grade_cheat(name: str) -> Record:
        if (section := sections.get(name)) is None:
            return graded(written(name, folder))
        return grade(section.of(EXERCISE), section.file, submission=name, device="virtual", seed=SEED)

    return grade_cheat


def written(name: str, folder: Path) -> Path:
    source = folder / f"{name}.cu"
    source.write_text(CHEATS[name])
    return source


def stands_alone(name: str) -> bool:
    return name.startswith(BEYOND_THEIR_ENTRY) or bool(may_earn(name))


def descendants() -> set[int]:
    """Processes below this one; those whose parents have ended come to it, see `adopter`.

    What the grader compiles ahead is none of a cheat's doing: a cheat that fails early is judged before the
    baseline is built."""
    while ahead := [thread for thread in threading.enumerate() if thread.name in COMPILE_AHEAD]:
        ahead[0].join()
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


@pytest.fixture(scope="module", autouse=True)
def adopter() -> Iterator[None]:
    """Whatever a cheat leaves running becomes this process's child, however it has cut itself loose."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="module", autouse=True)
def little_time() -> Iterator[None]:
    """A launch that never ends keeps a core busy until it is given up; all others take milliseconds. And all
    cases of a right kernel together take a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(virtual, "_KERNEL_SECONDS", 1)
        patch.setattr(device, "_VIRTUAL_SECONDS", 8.0)
        yield


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_earns_what_its_kernel_deserves_and_leaves_nothing_behind(
    name: str, record_of: RecordOf
) -> None:
    before = descendants()
    record = record_of(name)
    most = may_earn(name)
    undeserved = {part.name: part for part in record.parts if part.points > most.get(part.name, 0.0)}
    assert undeserved == {}
    assert record.verdict
    assert descendants() <= before


@pytest.mark.parametrize("name", ["h1_false_answers", "h2_exit", "h6_shadow_modules", "h8_rewrite_at_exit"])
def test_the_submission_after_a_cheat_is_graded_as_ever(name: str, tmp_path: Path) -> None:
    stages = ("build", "correctness", "checks")
    graded(written(name, tmp_path), stages)
    record = graded(EXERCISE.solution, stages)
    assert [(part.name, part.points) for part in record.parts] == [("correct", 40), ("clean", 10)]


def test_printed_praise_is_text_and_nothing_else(record_of: RecordOf) -> None:
    record = record_of("h3_pass_line")
    assert "Correctness: PASSED" in record.output
    assert record.verdict == "wrong answer"


def test_the_exercise_and_its_solution_cannot_be_read(record_of: RecordOf) -> None:
    record = record_of("h7_hidden_cases")
    assert "Exercise(" not in record.output
    assert "FOUND" not in record.output.replace("FOUND /proc/self/fd", "")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c2_changed_inputs", "input changed"),
        ("c9_library_calls", "not in a kernel"),
        ("c10_empty_kernel", "not in a kernel"),
        ("r1_by_pointer", "not repeatable"),
        ("r2_device_buffer", "kept answer"),
        ("h2_exit", "crash"),
    ],
)
def test_a_cheat_s_verdict_says_what_was_seen(name: str, reason: str, record_of: RecordOf) -> None:
    record = record_of(name)
    assert next(case.reason for case in record.cases if not case.passed) == reason


@pytest.mark.parametrize("name", ["h2_exit", "h8_rewrite_at_exit", "h9_network", "t5_false_clock"])
def test_odd_calls_are_flagged_for_a_person(name: str, record_of: RecordOf) -> None:
    assert record_of(name).flags
