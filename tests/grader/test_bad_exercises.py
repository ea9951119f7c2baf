"""A mistake in an exercise.py is a sentence with its file and line, and the other exercises stay usable."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cli import main
from grader.course import student
from grader.spec import registry

LINES = """\
from grader.spec import Exact, Exercise, Points, Relative, Speedup, case
from grader.spec.mechanisms import Launches

BENCH = (
    case("64 rows", rows=64),
)

exercise = Exercise(
    title="Sums",
    entry="sums",
    inputs=lambda size, rng: None,
    reference=lambda size, buffers: None,
    compare=Exact(),
    cases=(case("one", rows=1), case("two", rows=2)),
    hidden=lambda rng: (),
    bench=BENCH,
    bytes_moved=lambda size: size.rows * 4,
    mechanisms=(Launches(exactly=1),),
    targets=(
        Speedup(cases=("64 rows",), passing=1.1, full=1.4),
    ),
    points=Points(correct=40, clean=10, mechanism=25, speed=25),
    hints=("Look.",),
)
"""
NAME = "06_sums"


@pytest.fixture
def course(tmp_path: Path, monkeypatch):
    def made(text: str, name: str = NAME) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "exercise.py").write_text(text)
        return folder

    monkeypatch.setattr(registry, "EXERCISES", tmp_path)
    monkeypatch.setattr(student, "WORK", tmp_path / "work")
    return made


def test_the_exercise_without_mistakes_is_found(course):
    assert registry.load(course(LINES)).max_points == 100


@pytest.mark.parametrize(
    ("right", "wrong", "line", "words"),
    [
        ('title="Sums"', 'title=""', 9, "title is '' where a text was expected"),
        ('entry="sums"', 'entry="my sums"', 10, "entry is 'my sums' where a function's name was expected"),
        ("inputs=lambda size, rng: None", "inputs=None", 11, "inputs is None where a function was expected"),
        ("compare=Exact()", "compare=Exact", 13, "where one of Exact, Relative, Normwise was expected"),
        ("compare=Exact()", "compare=Relative(-1)", 13, "compare.times is -1 where a number of at least 0"),
        ('case("two", rows=2)', 'case("one", rows=2)', 14, "cases has 2 cases with the name 'one'"),
        ('case("two", rows=2)', "2", 14, "cases[1] is 2 where a case was expected"),
        ("rows=64)", 'rows="64", words={})', 5, "bench[0] has the size rows = '64' where a whole number"),
        ("size.rows * 4", "size.row * 4", 17, "bytes_moved fails for the case '64 rows': this case has no"),
        ("(Launches(exactly=1),)", "(Launches,)", 18, "mechanisms[0] is <class"),
        (
            "exactly=1",
            'exactly="one"',
            18,
            "mechanisms[0].exactly is 'one' where a whole number",
        ),
        ("Launches(exactly=1)", "Launches(1.5)", 18, "mechanisms[0].exactly is 1.5 where a whole number"),
        ('cases=("64 rows",)', 'cases=("65 rows",)', 20, "names '65 rows'; the bench cases are '64 rows'"),
        ('cases=("64 rows",)', 'cases="64 rows"', 20, "is the text '64 rows' where a tuple of names"),
        ("passing=1.1", "passing=1.5", 20, "targets[0].passing is 1.5, above full = 1.4"),
        ("full=1.4", 'full=1.4, protocol="hot"', 20, "targets[0].protocol is 'hot'; it may be cold, graph"),
        ("full=1.4", 'full=1.4, against="cub"', 20, "names 'cub'; the alternatives and yardsticks are none"),
        ("full=1.4", "full=1.4, share=0.8", 19, "targets have the shares 0.8 of the points for speed"),
        ("correct=40", 'correct="40"', 22, "points.correct is '40' where a number of at least 0"),
        ('hints=("Look.",)', 'hints=("Look.")', 23, "hints is one text where a tuple was expected"),
        ('hints=("Look.",)', 'arch="hopper"', 23, "arch is 'hopper' where an architecture was expected"),
        ('hints=("Look.",)', 'mechanism_case="three"', 23, "names 'three'; the cases are 'one', 'two'"),
        (
            'hints=("Look.",)',
            'more_mechanism_cases=("three",)',
            23,
            "names 'three'; the cases are 'one', 'two'",
        ),
        ('hints=("Look.",)', "known_mistakes={'late': 3}", 23, "known_mistakes has 'late': 3 where a name"),
        ('hints=("Look.",)', "hint=()", 8, "unexpected keyword argument 'hint'"),
        ("BENCH = (", "BENCH = ((", 4, "'(' was never closed"),
        ("exercise = Exercise(", "exercises = Exercise(", 1, "the file defines no `exercise`"),
        ("from grader.spec.mechanisms", "from grader.spec.mechanism", 2, "ModuleNotFoundError"),
        ("BENCH = (", "raise SystemExit(3)\nBENCH = (", 4, "SystemExit: 3"),
    ],
)
def test_a_mistake_is_named_with_its_line(course, right, wrong, line, words):
    assert right in LINES
    folder = course(LINES.replace(right, wrong))
    with pytest.raises(registry.BadExercise) as found:
        registry.load(folder)
    first = str(found.value).splitlines()[0]
    assert first.startswith(f"{folder}/exercise.py:{line}: ")
    assert words in first


def test_a_field_written_in_another_file_has_its_line_there(course):
    own = 'BENCH = (\n    case("64 rows", rows=64),\n)'
    assert own in LINES
    folder = course(LINES.replace(own, "from .shapes import BENCH"))
    (folder / "shapes.py").write_text(
        'from grader.spec import case\n\nBENCH = (\n    case("64 rows", rows=64),\n    "128 rows",\n)\n'
    )
    with pytest.raises(registry.BadExercise, match=r"shapes\.py:5: bench\[1\] is '128 rows'"):
        registry.load(folder)


def test_one_bad_exercise_leaves_the_others_usable(course, capsys):
    course(LINES, "07_fine")
    course(LINES.replace("passing=1.1", "passing=9"), "08_wrong")
    assert main(["list"]) == 0
    shown = capsys.readouterr()
    assert "07" in shown.out
    assert "08" not in shown.out
    assert "08_wrong/exercise.py:20: targets[0].passing is 9" in shown.err
    assert main(["hint", "07"]) == 0
    assert main(["hint", "08"]) != 0
    assert "08_wrong/exercise.py:20: " in capsys.readouterr().err


def test_the_courses_own_exercises_have_no_mistakes():
    assert registry.bad_exercises() == {}
