"""term.toml is checked before anything is graded: what cannot be used is named with its file and line."""

from __future__ import annotations

import datetime

import pytest

from common.core.errors import CourseError
from grader.nbgrader.term.plan import read_term
from tests.nbgrader.small_course import FIRST

GOOD = """
[due]
01 = 2030-01-31T23:59:00+01:00

[groups]
tuesday = ["ada", "ben"]

[[extension]]
assignment = "01"
students = ["ada"]
days = 3

[[extension]]
assignment = "1"
groups = ["tuesday"]
hours = 12

[dropped]
01_first = ["q-why"]
"""


@pytest.fixture
def read(small_class, monkeypatch):
    def reading(text: str):
        small_class.folder.term.write_text(text)
        return read_term(small_class.folder)

    before = small_class.folder.term.read_text()
    yield reading
    small_class.folder.term.write_text(before)


BAD_VALUES = {
    "extension = [1]": "each extension is a table",
    '[[extension]]\nassignment = "01"\nstudents = ["ada"]\ndays = inf': "longer than any term",
    '[[extension]]\nassignment = "01"\nstudents = ["ada"]\ndays = nan': "a number of at least 0",
    "[due]\n01 = 0001-01-01T00:00:00+01:00": "in the year 1:",
    "[due]\n01 = 9999-12-30T00:00:00Z": "leave out what is never due",
}


@pytest.mark.parametrize("text", BAD_VALUES)
def test_values_that_no_calendar_has_are_refused_in_a_sentence(read, text):
    with pytest.raises(CourseError, match=BAD_VALUES[text]):
        read(text)


def test_the_file_of_a_new_class_changes_nothing(small_class):
    term = read_term(small_class.folder)
    assert (dict(term.due), dict(term.extensions), dict(term.dropped)) == ({}, {}, {})


def test_dates_are_utc_and_the_longest_extension_counts(read):
    term = read(GOOD)
    assert term.due == {FIRST: datetime.datetime(2030, 1, 31, 22, 59)}
    assert term.extensions == {
        ("ada", FIRST): datetime.timedelta(days=3),
        ("ben", FIRST): datetime.timedelta(hours=12),
    }
    assert term.dropped == {FIRST: ("q-why",)}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[due]\n01 = 2030-01-31T23:59:00", 2, "offset from UTC was expected"),
        ("[due]\n\n09 = 2030-01-31T23:59:00Z", 3, "there is no notebook '09'"),
        ("[dew]\n01 = 1", 1, "there is no table 'dew'"),
        ('[[extension]]\nassignment = "01"\ndays = 2', 1, "extension 1 names nobody"),
        ('[[extension]]\nassignment = "01"\nstudents = ["ada"]', 1, "extension 1 has no length"),
        ('[[extension]]\nassignment = "01"\ngroups = ["friday"]\ndays = 1', 3, "there is no group 'friday'"),
        ('[[extension]]\nassignment = "01"\nstudents = ["ada"]\ndays = -1', 4, "at least 0 was expected"),
        ('[[extension]]\nassignment = "01"\nday = 1', 3, "extension 1 has 'day'"),
        ('# days = 1\n[groups]\nmonday = "ada"', 3, "where a list of texts was expected"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(small_class, read, text, line, words):
    with pytest.raises(CourseError) as problem:
        read(text)
    assert str(problem.value).startswith(f"{small_class.folder.term}:{line}: ")
    assert words in str(problem.value)


def test_a_file_that_is_not_toml_is_named(read, small_class):
    with pytest.raises(CourseError, match=r"term\.toml cannot be read: .*line 1"):
        read("[due\n")
