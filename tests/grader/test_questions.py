"""Answers to every kind of question: reading, credit and comment. No answer raises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.core.errors import CourseError
from grader.notebook.views.answers_view import Answers, Questions
from grader.questions.answer_files import read_answers, read_functions, read_measurement
from grader.questions.grading import MOST_ANSWERS, Graded, asked_on, grade
from grader.records.device_info import GPU, VIRTUAL, DeviceInfo
from grader.render.answers import answers_json, answers_text, answers_title
from grader.spec.question import (
    MEASURED_SPEEDUP,
    Accepted,
    Choice,
    Counted,
    Factor,
    Function,
    Line,
    Prose,
    Question,
    Within,
)
from tests.grader.notebook.html_reading import read

SECTORS = Question("sectors", "sectors", Factor(1.25, 4.0), Counted("launches", "a"), 2.0, "So it is.")
EXACT = Question("launches", "launches", Factor(1.0, 1.0), Counted("launches", "a"))
SHARE = Question("share", "", Within(((0.1, 1.0), (0.3, 0.5)), "us"), lambda measured, _: 1.0, 2.0, "Divide.")
FAULT = Question("one.fault", "", Choice(("bank-conflicts", "stride", "wrong answer")))
LINE = Question("one.line", "", Line("one.cu", 90))
FIX = Question("one.fix", "", Prose())
DOUBLED = Question("doubled", "", Function(), lambda function: function(2) == 4, points=0)


def divides(number: float) -> float:
    return number / 0


DIVIDES = divides.__code__.co_firstlineno + 1
KEY = {"one.fault": Accepted({"stride": 1.0}), "one.line": Accepted({14: 1.0, 43: 1.0})}

positive = st.floats(1e-6, 1e12)
factor = st.floats(1.0, 100.0)


def graded(question: Question, answer: object, truth: Any = 16.0) -> Graded:
    (only,) = grade([question], {question.name: answer}, {question.name: truth}).graded
    return only


def credit(answer: object, truth: float = 16.0, asked: Question = SECTORS) -> float:
    return graded(asked, answer, truth).credit


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        *((16, 1), (20, 1), (12.8, 1), (20.1, 0.99), (64, 0), (4, 0)),
        *((65, 0), (32, 0.596), (8, 0.596), (0, 0), (-16, 0)),
    ],
)
def test_credit_falls_with_the_factor(answer: float, wanted: float):
    assert credit(answer) == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [(1, 1), (1.05, 1), (0.91, 1), (1.2, 0.5), (0.75, 0.5), (1.4, 0), (0.5, 0), (-1, 0), (0, 0)],
)
def test_credit_falls_in_steps_of_the_relative_error(answer: float, wanted: float):
    assert credit(answer, 1.0, SHARE) == wanted


@given(positive, factor)
def test_too_high_and_too_low_by_the_same_factor_earn_the_same(truth: float, off: float):
    assert credit(truth * off, truth) == pytest.approx(credit(truth / off, truth), abs=1e-6)


@given(positive, factor, factor)
def test_a_closer_answer_never_earns_less(truth: float, one: float, other: float):
    near, far = sorted((one, other))
    assert credit(truth * near, truth) >= credit(truth * far, truth) - 1e-9


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False), factor, factor)
def test_credit_is_between_0_and_1(answer: float, truth: float, one: float, other: float):
    full, none = sorted((one, other))
    assert 0 <= credit(answer, truth, Question("x", "", Factor(full, none), Counted("launches", ""))) <= 1


@given(positive)
def test_the_right_number_itself_is_always_right(truth: float):
    assert credit(truth, truth) == credit(truth, truth, EXACT) == credit(truth, truth, SHARE) == 1


def test_an_exact_number_has_no_neighbours():
    assert credit(1, 1, EXACT) == credit(1.0, 1, EXACT) == credit(-2, -2, EXACT) == 1
    assert credit(2, 1, EXACT) == credit(1.0001, 1, EXACT) == 0


def test_zero_is_right_only_where_zero_was_counted():
    assert credit(0, 0) == 1
    assert credit(0.001, 0) == credit(0, 0.001) == 0


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        *((SECTORS, answer, "not answered yet") for answer in (None, ..., "", " ? ")),
        (SECTORS, "16", "a number was expected, not a str"),
        (SECTORS, True, "not a bool"),
        (SECTORS, [16], "not a list"),
        (SECTORS, {"a": 1}, "not a dict"),
        (SECTORS, 16 + 0j, "not a complex"),
        *((SECTORS, answer, "a finite number") for answer in (math.nan, math.inf, -math.inf, 10**400, 1e300)),
        (FAULT, "", "not answered yet"),
        (FAULT, 7, "7 is not text; expected a word of the list in quotes"),
        (FAULT, ["stride"], "['stride'] is not text"),
        (FAULT, "strides", "'strides' is not on the list; did you mean 'stride'?"),
        (FAULT, "\x1b[31mred", "is not on the list: bank-conflicts, stride"),
        (LINE, 0, "not answered yet: lines count from 1"),
        (LINE, -3, "-3 is not a line of one.cu, which has lines 1 to 90"),
        pytest.param(LINE, 10**5000, "is not a line of one.cu", id="digits"),
        (LINE, "12", "'12' is not a whole number; expected one without quotes: line = 12"),
        *((LINE, answer, "is not a whole number") for answer in (12.0, False)),
        (DOUBLED, None, "is not in this file any more"),
        (DOUBLED, 4, "a function was expected, not an int"),
    ],
)
def test_an_invalid_answer_earns_nothing_with_a_reason(question: Question, answer: object, words: str):
    found = graded(question, answer, KEY.get(question.name, 16.0))
    assert found.credit == 0
    assert words in found.reason
    assert len(found.reason) < 200
    assert "\x1b" not in found.reason + found.yours
    assert not found.pending


@pytest.mark.parametrize(
    ("question", "answer", "truth", "words"),
    [
        (SECTORS, 16, 16.0, "right: So it is."),
        (SECTORS, 18, 16.0, "close enough"),
        (SECTORS, 24, 16.0, "50 % too high"),
        (SECTORS, 4, 16.0, "4 times too low"),
        (SECTORS, 0, 16.0, "16 was"),
        (SHARE, 1.2, 1.0, "20 % too high: Divide."),
        (FAULT, "stride", KEY["one.fault"], "right"),
        (FAULT, "bank-conflicts", KEY["one.fault"], "'bank-conflicts' is wrong"),
        (FAULT, "stride", Accepted({"stride": 0.5}, "By the rule."), "partly right: By the rule."),
        (LINE, 43, KEY["one.line"], "right"),
        (LINE, 44, KEY["one.line"], "44 is wrong"),
        (DOUBLED, lambda number: 2 * number, DOUBLED.truth, "does what it says"),
        (DOUBLED, lambda number: number, DOUBLED.truth, "does something else"),
        (DOUBLED, divides, DOUBLED.truth, f"raises ZeroDivisionError at line {DIVIDES}: division by zero"),
    ],
)
def test_the_comment_matches_the_credit(question: Question, answer: object, truth: Any, words: str):
    assert graded(question, answer, truth).reason.startswith(words)


@pytest.mark.parametrize("written", ["bank-conflicts", " Bank_Conflicts ", "BANK conflicts"])
def test_words_count_however_their_parts_are_joined(written: str):
    assert graded(FAULT, written, Accepted({"bank-conflicts": 1.0})).credit == 1


@pytest.mark.parametrize(
    "answers", [None, "sectors", [("sectors", 16)], 7, {n: n for n in range(MOST_ANSWERS + 1)}]
)
def test_answers_that_are_no_small_dict_earn_nothing(answers: object):
    results = grade([SECTORS], answers, {"sectors": 16.0})
    assert results.earned == 0
    assert "answers" in results.graded[0].reason
    assert results.unknown == ()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
@pytest.mark.parametrize("question", [SECTORS, SHARE, FAULT, LINE], ids=lambda question: question.name)
def test_whatever_stands_there_is_graded(question: Question, answer: object):
    found = graded(question, answer, KEY.get(question.name, 16.0))
    assert 0 <= found.credit <= 1
    assert found.reason


@pytest.mark.parametrize("truth", [None, math.nan, math.inf])
def test_without_a_truth_it_is_pending(truth: float | None):
    found = graded(SECTORS, 16, truth)
    assert found.pending
    assert found.credit == 0


def test_a_table_of_toml_holds_names_behind_a_dot_and_prose_is_left_to_people():
    results = grade([FAULT, LINE, FIX], {"one": {"fault": "stride", "line": 14, "fix": "…"}}, KEY)
    assert (results.earned, results.points, results.unknown) == (2, 2, ())
    assert [one.name for one in results.graded] == ["one.fault", "one.line"]


def test_unknown_names_are_reported():
    answers: dict[object, object] = {"sectors": 1, "secters": 2, 5: 3, "one": {"lines": 3}, "two": {}}
    answers.update((f"x{n}", 0) for n in range(9))
    unknown = grade([SECTORS], answers, {}).unknown
    assert unknown[:3] == ("secters", "one.lines", "two")
    assert len(unknown) == 5


def test_a_question_for_a_gpu_is_asked_where_there_is_one_and_its_name_is_known_elsewhere():
    fast = Question("fast", "", Factor(), Counted(MEASURED_SPEEDUP, "a"))
    assert asked_on(DeviceInfo(GPU, ""), [SECTORS, fast]) == (SECTORS, fast)
    results = grade([SECTORS, fast], {"fast": 2}, {}, DeviceInfo(VIRTUAL, ""))
    assert [one.name for one in results.graded] == ["sectors"]
    assert results.unknown == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Factor(2.0, 1.5), "full <= none"),
        (lambda: Counted("launches", "a", "theirs"), "side is one of"),  # type: ignore[arg-type]
        (lambda: Counted(MEASURED_SPEEDUP, "a", "baseline"), "not baseline"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(make: Callable[[], object], words: str):
    with pytest.raises(ValueError, match=words):
        make()


def test_answers_are_shown_beside_what_is_right():
    results = grade([SECTORS, EXACT], {"sectors": 32, "launches": 1, "typo": 1}, {"sectors": 16.0})
    shown = Answers(answers_title("Predictions", results), results, {"launches": "later"})
    for text in (read(shown).text, repr(shown)):
        assert text.startswith("Predictions: 1.19/3 points")
        assert "2 times too high: So it is." in text
        assert "There is no question typo." in text
    assert shown.credit == pytest.approx(1.19 / 3, abs=0.01)
    assert "There is no question typo." in answers_text("mine.toml", results)
    assert json.loads(answers_json(results))["answers"][0]["name"] == "sectors"


def test_truths_stay_hidden_until_there_is_an_answer_and_keys_always():
    empty = grade([SECTORS], {"sectors": ...}, {"sectors": 1234.0})
    text = answers_text("", empty)
    assert "not answered yet" in text
    assert "1,234" not in text
    assert "So it is." not in text
    wrong = answers_text("", grade([FAULT, LINE], {"one": {"fault": "wrong answer", "line": 1}}, KEY))
    assert not any(secret in wrong for secret in ("stride", "14", "43"))


def test_functions_are_shown_without_points():
    results = grade([DOUBLED], {"doubled": lambda number: number}, {"doubled": DOUBLED.truth})
    assert answers_text("mine.py", results).splitlines()[:2] == ["mine.py: 0 of 1 right", "answer   why"]


def test_the_questions_come_with_an_answer_cell():
    text = read(Questions([SECTORS, EXACT])).text
    assert 'predictions = {\n    "sectors": ...,\n    "launches": ...,\n}' in text


ENDLESS = b"9" * 5000  # more than Python reads


def read_toml(path: Path) -> object:
    return read_answers(path, Path("starter.toml"))


def read_json(path: Path) -> object:
    return read_measurement(path, "measure again")


def read_python(path: Path) -> object:
    return read_functions(path, Path("starter.py"))


@pytest.mark.parametrize(
    ("read_file", "content", "words"),
    [
        (read_toml, b"a = 1\nshare = .82\n", ":2:9: this is not TOML"),
        (read_toml, b"[one\n", ":1:5: this is not TOML"),
        (read_toml, b'a = 1\nb = "\xff"\n', ":2: this is not UTF-8 text"),
        (read_toml, b"a = " + ENDLESS, "too long for an answer: write answers as"),
        (read_toml, b"a = " + b"[" * 20_000, "too long for an answer"),
        (read_toml, b"#" * (1 << 21), "has more than 1,048,576 bytes"),
        (read_toml, None, "there is no "),
        (read_json, b"{", ":1:2: this is not JSON"),
        (read_json, b"", ":1:1: this is not JSON"),
        (read_json, b"[" * 100_000, "too large for a measurement: measure again"),
        (read_json, b'{"copies": ' + ENDLESS + b"}", "too large for a measurement"),
        (read_json, None, "there is no "),
        (read_python, b"x = 1\ndef f(:\n", "mine:2: Python stops here (SyntaxError"),
        (read_python, b"x = 1\n1 / 0\n", "mine:2: Python stops here (ZeroDivisionError"),
        (read_python, b"\nx = torhc\n", "mine:2: Python stops here (NameError: name 'torhc' is not defined)"),
        (read_python, b"import not_there\n", "mine:1: Python stops here (ModuleNotFoundError"),
        (read_python, None, "there is no "),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_with_a_way_out(
    read_file: Callable[[Path], object], content: bytes | None, words: str, tmp_path: Path
):
    path = tmp_path / "mine"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError) as raised:
        read_file(path)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    ways_out = ("copy starter", "write answers as", "measure again", "fix that first")
    assert any(way in str(raised.value) for way in ways_out)


def test_a_folder_is_no_file_of_answers(tmp_path: Path):
    with pytest.raises(CourseError, match="is a folder or a device, not a text file"):
        read_toml(tmp_path)


def test_a_byte_order_mark_is_skipped(tmp_path: Path):
    (tmp_path / "mine").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(tmp_path / "mine") == {"a": 1}
