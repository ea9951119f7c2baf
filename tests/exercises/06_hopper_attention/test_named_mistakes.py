"""Mistakes of exercise 06 that a failing case names, each with the answer that such a kernel leaves."""

from __future__ import annotations

import pytest

from grader.spec import registry
from tests.exercises.named_mistakes import must_be_named

EXERCISE = registry.find("06")
ATTENTION = ("products of four warps", ("300 rows",))
NAMED = {
    "the swizzle of a row is taken from row % 4": ("a tile", ("a tile",)),
    "the copy's coordinates are in the wrong order": ("a ring of stages", ("77 rows, two heads",)),
    "the output is not rescaled": ATTENTION,
    "the sum is not rescaled": ATTENTION,
    "output and sum are not rescaled": ATTENTION,
    "scores are added to what their registers held": ATTENTION,
    "the values of the last tile of keys are missing": ATTENTION,
    "the weights are multiplied with the keys": ATTENTION,
    "head h of the queries reads head h": ("", ("heads share keys and values",)),
}


@pytest.mark.parametrize("words", NAMED)
def test_a_case_names_the_mistake(words: str) -> None:
    step, cases = NAMED[words]
    must_be_named(EXERCISE, words, step, cases)
