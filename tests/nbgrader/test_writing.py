"""Points of a class are written by several processes: the same ones, whatever ends one of these."""

from __future__ import annotations

import os
import signal

import pytest

from grader.nbgrader import writing
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.tiny_notebook import QUESTION, cell_of

STUDENTS = [f"student{number}" for number in range(6)]


@pytest.fixture
def handed_in(small_class, monkeypatch):
    monkeypatch.setattr(writing, "_WORTH", 2)
    for number, name in enumerate(STUDENTS):
        if not small_class.folder.handed_in(name, FIRST).exists():
            notebook = small_class.released
            cell_of(notebook, "predictions").source = f'predictions = {{"launches": {number}}}'
            cell_of(notebook, QUESTION).source = "Because."
            small_class.hand_in(name, notebook, "// wrong" if number % 2 else "// fine")
    return small_class


def write_with(handed_in, monkeypatch, processes: int):
    """Everything once more, by so many processes."""
    monkeypatch.setattr(writing, "parallel_jobs", lambda: processes)
    for name in STUDENTS:
        writing.written_path(handed_in.folder, (name, FIRST)).unlink(missing_ok=True)
    return handed_in.autograde()


def shown(handed_in, name: str) -> list[dict]:
    """The graded notebook's cells, which have new ids each time."""
    return [{**cell, "id": ""} for cell in handed_in.autograded(name).cells]


def test_three_processes_write_what_one_does(handed_in, monkeypatch):
    graded = {number: write_with(handed_in, monkeypatch, number) for number in (3, 1)}
    notebooks = [shown(handed_in, name) for name in STUDENTS]
    assert graded[3] == graded[1]
    assert [one.problem for one in graded[3].values()] == [""] * len(STUDENTS)
    assert len({one.points for one in graded[3].values()}) > 2
    write_with(handed_in, monkeypatch, 2)
    assert [shown(handed_in, name) for name in STUDENTS] == notebooks


def test_a_writer_that_is_killed_costs_its_points_until_the_next_run_alone(handed_in, monkeypatch):
    whole = write_with(handed_in, monkeypatch, 1)
    settle, here = writing.settle, os.getpid()

    def settle_or_die(plan, functions, book, pair, given):
        if pair[0] == "student2" and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        settle(plan, functions, book, pair, given)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "settle", settle_or_die)
        partly = write_with(handed_in, monkeypatch, 3)
    lost = {name for name, one in partly.items() if one.problem}
    assert lost == {"student2", "student3"}, "its batch"
    assert {partly[name].problem for name in lost} == {writing.LOST}
    assert {name: one for name, one in partly.items() if name not in lost} == {
        name: one for name, one in whole.items() if name not in lost
    }
    assert handed_in.autograde() == whole
