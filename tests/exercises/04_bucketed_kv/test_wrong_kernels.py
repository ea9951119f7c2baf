"""Exercise 04's wrong kernels on the virtual GPU: each fails for its own reason, at its own line."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator

import pytest

from grader.spec import registry
from tests.exercises.rounds import (
    Rounds,
    compiled_ahead,
    guessing,
    library_of,
    must_be_right,
    runs_of,
    task_of,
)

EXERCISE = registry.find("04")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its tables are asked for by name.
TABLES = importlib.import_module("tests.exercises.04_bucketed_kv.wrong_kernels")
ALL = TABLES.MISTAKES | TABLES.CHEATS
ROUNDS = TABLES.rounds()
IN_ORDER = [name for names in ROUNDS for name in names]


# The kernel for groups of at most four rows and heads of 128 is what runs in every case that shows a mistake.
# Of three, which take most of the compiling, the other two are left out.
SHOWN_BY = "launch<Heads::kFewRows>"
OTHERS = re.compile(r"launch<Heads::k(Other|ManyRows)>\(job, results, stream\)")


@functools.cache
def text_of(number: int) -> str:
    """The solution with every mistake of a round."""
    text, left_out = OTHERS.subn("cudaErrorNotSupported", SOLUTION)
    assert left_out == 2
    assert SHOWN_BY in text
    for name in ROUNDS[number]:
        text = ALL[name].source(text)
    return text


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    with compiled_ahead(len(ROUNDS), text_of, tmp_path_factory.mktemp("rounds")) as made:
        yield made


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(name: str, rounds: Rounds) -> None:
    wanted = ALL[name]
    number = next(number for number, names in enumerate(ROUNDS) if name in names)
    task = guessing(task_of(EXERCISE, wanted.part), wanted.words)
    *before, last = runs_of(rounds.library(number), task, wanted.cases)
    assert all(run.result.passed for run in before)
    if not wanted.kind:
        assert last.result.reason == wanted.reason
        assert wanted.words in last.result.message
        return
    (line,) = (at for at, text in enumerate(text_of(number).splitlines(), 1) if wanted.line in text)
    found = {
        (finding.kind, place.line)
        for finding in last.report.findings
        for place in (*finding.place, *finding.other)
    }
    assert (wanted.kind, line) in found


def test_the_solution_passes_the_cases_that_show_mistakes() -> None:
    must_be_right(library_of(EXERCISE.solution), EXERCISE, ((one.part, one.cases) for one in ALL.values()))


def test_there_are_wrong_kernels_enough() -> None:
    assert len(TABLES.MISTAKES) >= 12
