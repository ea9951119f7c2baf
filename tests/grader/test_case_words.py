"""The shape of a case in words: what a student reads of a case that fails."""

from __future__ import annotations

import pytest
import torch

from common.virtual_gpu.report import Report
from grader.pipeline.judging import rubric
from grader.pipeline.judging.cases import CaseRun
from grader.records.record import CaseResult
from grader.spec import At, Call, Exercise, HostTable, Words, case, cases_with, i64, registry
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


def test_sizes_without_words_are_said_by_their_names():
    assert case("a", rows=12_000, columns=0).shape == "rows: 12,000, columns: 0"


def test_a_case_with_usual_sizes_names_them_where_one_is_unknown():
    make = cases_with(WORDS, rows=3, gap=0)
    assert make("a", gap=2, gpu_only=True) == case("a", words=WORDS, rows=3, gap=2, gpu_only=True)
    with pytest.raises(TypeError, match="case 'a': there is no size 'gaps'; the sizes are rows, gap"):
        make("a", gaps=2)


def test_a_record_without_words_shows_the_names_of_sizes():
    assert CaseResult("a", True, {"rows": 3}, False).sizes_in_words == "rows 3"
    assert CaseResult("a", True, {"rows": 3}, False, shape="rows: 3").sizes_in_words == "rows: 3"


def test_the_points_name_the_shape_of_the_first_case_that_fails():
    failed = CaseResult("hidden 1", False, {"rows": 3}, False, "mismatch", "out[0] is 1", shape="rows: 3")
    right = CaseResult("a", True, {"rows": 1}, True)
    runs = [CaseRun(result, Report(), counts=True) for result in (right, failed)]
    said = "1 of 2 cases passed; first failure, hidden 1 (rows: 3): out[0] is 1"
    assert rubric.correct_part(registry.find("01"), runs).message == said
    assert rubric.step_part(registry.find("02").steps[0], [right, failed], [], ()).message == said


def test_a_buffer_is_named_as_the_table_that_points_to_it_names_it():
    buffers = {name: torch.zeros(4) for name in ("from", "to", "both", "later")}
    rows = (
        (At("from"), At("to")),
        (At("both"), At("both")),
        (At("later", 2), i64(0)),
    )
    call = Call(buffers, ("to",), (At("to"), HostTable(rows, "copies", ("source", "destination"))))
    assert call.label("from") == "copies[0].source"
    assert call.label("to") == "copies[0].destination"
    assert [call.label(name) for name in ("both", "later")] == ["both", "later"]
    assert Call(buffers, ("to",), (HostTable(rows),)).label("from") == "from"


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_every_case_of_the_course_says_its_shape_in_words(exercise: Exercise):
    drawn = exercise.hidden(Random("drawn for the tests"))
    steps = [case for step in exercise.steps for case in (*step.cases, *step.hidden(Random("drawn")))]
    for one in (*exercise.cases, *exercise.bench, *drawn, *steps):
        assert one.shape, one.name
        assert "_" not in one.shape.replace("head_dim", ""), one.shape
