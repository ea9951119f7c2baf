"""A renamed step: records and notebooks with its former name are still repeated, shown and marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import DATA
from grader.nbgrader.handing_in.answers import Answers
from grader.nbgrader.marks.cell_marks import Marker
from grader.notebook import Lab
from grader.pipeline.judging.cases import all_cases
from grader.records.record import Record
from grader.records.replay import differences, with_current_names
from grader.render.pages.html import submission_page
from grader.spec import Step, registry, seeds

EXERCISE = registry.find("05")
STEP = EXERCISE.steps[0]
FORMER = "softmax on the way"
RECORD = DATA / "records" / "nvidia-h200-05_flash_attention-reference.json"


@pytest.fixture
def record() -> Record:
    """As it was made before the step was renamed."""
    made = Record.read(RECORD)
    made.parts = [replace(part, name=FORMER) if part.name == STEP.name else part for part in made.parts]
    made.cases = [replace(case, step=FORMER) if case.step == STEP.name else case for case in made.cases]
    return made


def test_the_step_is_named_by_its_standard_term(record: Record) -> None:
    assert (STEP.name, STEP.former_names) == ("online softmax", (FORMER,))
    assert record.parts[0].name == FORMER


@pytest.mark.parametrize("step", EXERCISE.steps, ids=lambda step: step.name)
def test_the_hidden_cases_of_a_seed_stay_the_same(step: Step, record: Record) -> None:
    drawn = all_cases(step, seeds.derive(record.seed, "step", step.seed_name))
    names = (step.name, *step.former_names)
    then = [case.sizes for case in record.cases if case.step in names and not case.public]
    assert len(then) == 3
    assert [dict(case.sizes) for case, public in drawn if not public] == then


def test_a_repeated_grading_is_compared_part_by_part(record: Record) -> None:
    before = with_current_names(record, EXERCISE.former_parts)
    assert [part.name for part in before.parts] == list(EXERCISE.rubric)
    assert {case.step for case in before.cases} == {"", *(step.name for step in EXERCISE.steps)}
    assert differences(before, Record.read(RECORD)) == []
    assert differences(record, before) == [f"{FORMER} earned 6 and now earns 0"]


def test_its_page_can_be_made(record: Record) -> None:
    assert FORMER in str(submission_page(record))


@pytest.mark.parametrize("cell", ["part-softmax-on-the-way", "part-online-softmax"])
@pytest.mark.parametrize("renamed", [False, True], ids=["an old record", "a new record"])
def test_a_notebooks_cell_is_marked_by_either_name(record: Record, renamed: bool, cell: str) -> None:
    if renamed:
        record = with_current_names(record, EXERCISE.former_parts)
    assert Marker(EXERCISE, record, Answers({})).mark(cell, 6).points == 6


def test_a_students_notebook_may_ask_for_it_by_its_former_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "kernel.cu").write_text(EXERCISE.starter.read_text())
    assert repr(Lab("05").part(FORMER)).startswith("online softmax: 0/6 points")
