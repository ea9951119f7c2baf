"""Mistakes of exercise 04 that a failing case names, each with the answer that such a kernel leaves."""

from __future__ import annotations

import pytest

from grader.spec import registry
from tests.exercises.named_mistakes import must_be_named

EXERCISE = registry.find("04")
# Words of the name, and the step and the cases that show it.
NAMED = {
    "a[1] and a[2] of the products with the keys are exchanged": ("scores", ("a key", "3 bits")),
    "products of all units are added up as they are": ("scores", ("4 bits",)),
    "the products of the units are shifted the wrong way": ("scores", ("2 bits",)),
    "keys and values are swapped, but not their scales": ("scores", ("a key",)),
    "the highest score is never kept": ("max and sum", ("a key",)),
    "the planes of the queries are exchanged": ("scores", ("a key", "3 bits")),
    "the sum is of the weights times the scales": ("max and sum", ("a key", "keys that stand out")),
    "offsets in a bucket wrap at 32 bits": ("", ("heads past 2^32 bytes",)),
    "max is read as [rows][parts]": ("merge", ("two parts",)),
    "sum is read as [rows][parts]": ("merge", ("two parts",)),
    "max and sum are read as [rows][parts]": ("merge", ("two parts",)),
    "the second eight of a lane's elements are left out": ("quantise", ("8 bits",)),
}


@pytest.mark.parametrize("words", NAMED)
def test_a_case_names_the_mistake(words: str) -> None:
    step, cases = NAMED[words]
    must_be_named(EXERCISE, words, step, cases)
