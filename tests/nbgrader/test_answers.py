"""Predictions are read as data: numbers and sums of numbers, and nothing is run."""

from __future__ import annotations

import pytest

from grader.nbgrader.handing_in.answers import MOST_TEXT, expression, read_answers


def values(text: str) -> object:
    return read_answers(f"predictions = {{{text}}}").values


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("7", 7),
        ("-1.5e3", -1500.0),
        ("4096 * 8 * 128 * 2", 8388608),
        ("2 ** 20 // 3", 349525),
        ("1 / 4 + 1", 1.25),
    ],
)
def test_numbers_and_arithmetic(written, number):
    assert values(f'"a": {written}') == {"a": number}


def test_what_was_left_open_is_no_answer():
    assert values('"a": ..., "b": None') == {"a": None, "b": None}


@pytest.mark.parametrize(
    "written",
    [
        "True",
        "'7'",
        "x",
        "f()",
        "10 ** 1000",
        "9 ** 9 ** 9",
        "1 / 0",
        "(-1) ** 0.5",
        "1j",
        "[1]",
        "(lambda: 1)()",
    ],
)
def test_what_would_have_to_be_run_is_no_number(written):
    [value] = dict(values(f'"a": {written}')).values()  # type: ignore[call-overload]
    assert isinstance(value, expression)


def test_the_last_assignment_counts():
    assert read_answers('predictions = {"a": 1}\nlab = 3\npredictions = {"a": 2}').values == {"a": 2}


def test_an_assignment_may_name_its_type():
    assert read_answers('predictions: dict[str, float] = {"a": 1}').values == {"a": 1}
    assert "not written as a dict" in read_answers("predictions: dict").problem


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "does not assign"),
        ("predictions = {", "not Python (line 1)"),
        ("predictions = dict(a=1)", "not written as a dict"),
        ("predictions = " + "(" * 5000, "not Python"),
        ("predictions = {'a': " + "-" * 9000 + "1}", ""),
        ("#" * (MOST_TEXT + 1), "more than 20,000 characters"),
        ("predictions = '\0'", "not Python"),
    ],
)
def test_a_cell_that_cannot_be_read_says_why(source, words):
    assert words in read_answers(source).problem
