"""Tests that share what is made for a file run in one process, and all others wherever there is room."""

from __future__ import annotations

import pytest

from tests import spread


@pytest.mark.parametrize(
    "path",
    [
        "tests/exercises/01_kv_store/test_kernels.py",  # a fixture for the module
        "tests/exercises/02_fused_copy/test_grading.py",  # functools.cache
        "tests/nbgrader/test_pages.py",  # a fixture in the conftest.py beside it
    ],
)
def test_a_file_that_shares_something_stays_together(path: str) -> None:
    assert spread.together(f"{path}::test_one") == spread.together(f"{path}::test_two[x]") == path


def test_other_tests_run_anywhere() -> None:
    test = "tests/exercises/04_bucketed_kv/test_grading.py::test_one"
    assert spread.together(test) == test


@pytest.mark.parametrize("name", spread.LONG)
def test_what_comes_first_is_there(name: str) -> None:
    assert (spread.TESTS / name).exists()
