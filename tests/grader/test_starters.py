"""Starters are made from solutions, and those in the repository are."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.core.errors import CourseError
from grader.cli.instructor import starters as verb
from grader.course import starters
from grader.course.starters import Todo, starter_text, todo_numbers
from grader.spec import registry
from tests.grader.course_fixtures import FIRST, course

__all__ = ["course"]

SOLUTION = """\
int before;
  // BEGIN SOLUTION  TODO 2: wait for the copies
  // TODO: one wait is enough.
  // STARTER: (void)stage;
  __pipeline_wait_prior(0);
  // END SOLUTION
int after;
"""
STARTER = """\
int before;
  // TODO 2: wait for the copies
  // one wait is enough.
  (void)stage;
int after;
"""


def test_a_region_becomes_its_task_and_what_the_starter_keeps():
    assert starter_text(SOLUTION) == STARTER


def test_lines_of_a_region_have_the_number_of_its_task():
    inside = SOLUTION.split("\n").index("  __pipeline_wait_prior(0);") + 1
    numbers = todo_numbers(SOLUTION)
    assert numbers[inside] == 2
    assert 1 not in numbers
    assert inside + 2 not in numbers


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("// BEGIN SOLUTION TODO 1: a\nx\n", 1, "has no END SOLUTION"),
        ("x\n// END SOLUTION\n", 2, "without a BEGIN SOLUTION"),
        (
            "// BEGIN SOLUTION TODO 1: a\n// BEGIN SOLUTION TODO 2: b\n// END SOLUTION\n",
            2,
            "inside the one of line 1",
        ),
        ("// BEGIN SOLUTION\nx\n// END SOLUTION\n", 1, "must be followed by its task"),
        ("x = 1;  // BEGIN SOLUTION TODO 1: a\n// END SOLUTION\n", 1, "must be alone"),
        ("// END SOLUTION of it\n", 1, "must be alone"),
    ],
)
def test_marks_that_do_not_fit_are_named_with_their_line(text, line, sentence):
    with pytest.raises(CourseError, match=sentence) as problem:
        starter_text(text, "kernel.cu")
    assert str(problem.value).startswith(f"kernel.cu:{line}: ")


_plain_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30).filter(
    lambda line: not re.search("SOLUTION|TODO|STARTER", line)
)
_secret_line = st.integers().map(lambda number: f"answer = secret{number};")
_task = st.from_regex(r"TODO [1-9]: [a-z ]{1,20}", fullmatch=True).map(str.strip)
_indent = st.sampled_from(["", "  ", "      ", "\t"])


@st.composite
def _solutions(draw: st.DrawFn) -> tuple[str, str]:
    """A solution, and the starter it must make."""
    solution: list[str] = []
    starter: list[str] = []
    for plain in draw(st.lists(st.booleans(), max_size=6)):
        if plain:
            lines = draw(st.lists(_plain_line, max_size=3))
            solution += lines
            starter += lines
            continue
        indent, task = draw(_indent), draw(_task)
        more = draw(st.lists(st.from_regex(r"[a-z]{1,12}", fullmatch=True), max_size=2))
        kept = draw(st.lists(st.from_regex(r"int [a-z]{1,8};", fullmatch=True), max_size=2))
        body = draw(st.lists(_secret_line, max_size=3))
        solution += [f"{indent}// BEGIN SOLUTION  {task}", *(f"{indent}// TODO: {text}" for text in more)]
        solution += [indent + line for line in body]
        solution += [*(f"{indent}// STARTER: {code}" for code in kept), f"{indent}// END SOLUTION"]
        starter += [f"{indent}// {task}", *(f"{indent}// {text}" for text in more)]
        starter += [indent + code for code in kept]
    return "\n".join(solution), "\n".join(starter)


@given(_solutions())
def test_everything_outside_a_region_stays_and_nothing_inside_leaks(pair):
    solution, wanted = pair
    made = starter_text(solution)
    assert made == wanted
    assert "secret" not in made
    assert starter_text(made) == made, "a starter has no region left"


@given(st.text())
def test_any_text_makes_a_starter_or_a_sentence(text):
    with contextlib.suppress(CourseError):
        starter_text(text)


def test_open_tasks_are_found_with_their_lines():
    assert starters.open_todos("int x;\n  // TODO 1: do it\n// done\n") == [Todo(2, "TODO 1: do it")]


def test_a_solution_has_no_open_tasks():
    assert starters.open_todos(SOLUTION) == []
    assert [todo.line for todo in starters.open_todos(STARTER)] == [2]


def test_a_task_is_shown_to_the_end_of_its_sentence():
    text = "  // TODO 1: fetch a tile, wait until it is\n  // there. More is in the file.\n"
    assert [todo.text for todo in starters.open_todos(f"{text}  // and more\n")] == [
        "TODO 1: fetch a tile, wait until it is there. More is in the file."
    ]
    assert [todo.text for todo in starters.open_todos("// TODO 1: one\n// TODO 2: two\n")] == [
        "TODO 1: one",
        "TODO 2: two",
    ]


def test_a_starter_is_untouched_whatever_an_editor_did_to_its_line_ends():
    assert starters.is_untouched(STARTER.replace("\n", "\r\n") + "\n\n", STARTER)
    assert not starters.is_untouched(STARTER.replace("(void)stage;", "x;"), STARTER)


def test_the_verb_finds_and_fixes_a_starter_that_differs(course, capsys):
    assert verb.main(["--check"]) == 0
    kernel = course / "exercises" / FIRST / "kernel.cu"
    kernel.write_text(kernel.read_text().replace("TODO 1", "TODO one"))
    assert verb.main(["--check"]) == 1
    shown = capsys.readouterr()
    assert "-  // TODO one: write" in shown.out
    assert "+  // TODO 1: write" in shown.out
    assert verb.main([]) == 0
    assert verb.main(["--check"]) == 0


@pytest.mark.parametrize("folder", registry.exercise_folders(), ids=lambda folder: folder.name)
def test_the_starters_in_the_repository_are_what_their_solutions_make(folder):
    exercise = registry.load(folder)
    assert starters.difference(exercise.solution, exercise.starter) == "", "run `./course starters`"


def test_of_one_step_only_its_own_tasks_are_open():
    text = "// TODO 1: one\n// TODO 2: two\n// TODO: any\n// TODO 2: another\n"
    assert [todo.line for todo in starters.open_todos(text, 2)] == [2, 3, 4]


def test_tasks_have_the_numbers_of_the_steps():
    for exercise in registry.all_exercises():
        if exercise.steps:
            numbers = set(starters.todo_numbers(exercise.solution.read_text()).values())
            assert numbers >= set(range(1, len(exercise.steps) + 1)), exercise.id
