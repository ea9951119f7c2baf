"""The shape of a case in words: what a student reads of a case that fails."""

from __future__ import annotations

import pytest

from grader.records.record import CaseResult
from grader.render.shape import shape
from grader.spec import Exercise, Words, case, registry
from grader.spec.random_inputs import Random

WORDS: Words = {
    "rows": "rows: {:,}",
    "gap": "{} elements between rows",
    "sliced": {0: "not sliced"},
}


def test_dimensions_are_always_said_and_other_sizes_where_they_mean_something():
    assert case("a", words=WORDS, rows=12_000, gap=0, sliced=1).shape == "rows: 12,000"
    assert (
        case("a", words=WORDS, rows=0, gap=3, sliced=0).shape
        == "rows: 0, 3 elements between rows, not sliced"
    )


def test_a_record_without_words_shows_the_names_of_sizes():
    assert shape(CaseResult("a", True, {"rows": 3}, False)) == "rows 3"
    assert shape(CaseResult("a", True, {"rows": 3}, False, shape="rows: 3")) == "rows: 3"


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_every_case_of_the_course_says_its_shape_in_words(exercise: Exercise):
    drawn = exercise.hidden(Random("drawn for the tests"))
    steps = [case for step in exercise.steps for case in (*step.cases, *step.hidden(Random("drawn")))]
    for one in (*exercise.cases, *exercise.bench, *drawn, *steps):
        assert one.shape, one.name
        assert "_" not in one.shape.replace("head_dim", ""), one.shape
