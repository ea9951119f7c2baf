"""The table of points in docs/grading.md: made from what is in the repository, and fair."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.documents import points

RESULTS = points.results()


def of(name: str) -> list[dict[str, Any]]:
    return [row for row in RESULTS if row["name"] == name]


def test_every_row_was_graded_as_it_is_now() -> None:
    now = [(row.exercise, row.name, row.sha256) for row in points.rows()]
    assert [(row["exercise"], row["name"], row["sha256"]) for row in RESULTS] == now, (
        "run python -m benchmarks.documents.points"
    )


def test_references_lose_nothing() -> None:
    assert {row["points"] for row in of("the reference")} == {100}


def test_starters_earn_nothing() -> None:
    assert {row["points"] for row in of("the starter")} == {0}


@pytest.mark.parametrize("row", of("the baseline"), ids=lambda row: row["exercise"])
def test_baselines_are_right_and_earn_nothing_for_speed(row: dict[str, Any]) -> None:
    assert "correct" not in row["lost"]
    assert row["lost"]["speed"] == 25
    assert row["points"] < 70


def test_levels_of_attention_earn_more_the_further_they_go() -> None:
    last = [row for row in of("the reference") if row["exercise"] == "05_flash_attention"]
    levels = [row["points"] for row in RESULTS if "step" in row["name"]] + [row["points"] for row in last]
    assert len(levels) == 4
    assert levels == sorted(levels)
    assert len(set(levels)) == len(levels)
