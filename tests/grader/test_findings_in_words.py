"""What the points say of findings: how many causes there are, and where the first is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from common.virtual_gpu.finding import Finding, Place
from common.virtual_gpu.report import Report
from grader.pipeline.judging.findings import in_words, merge


def race(line: int, other: int) -> Finding:
    places = [(Place("work/kernel.cu", number),) for number in (line, other)]
    return Finding("race", "two threads", "RaceWithWrite", place=places[0], other=places[1])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([race(41, 20)], "1 finding, race at kernel.cu:41"),
        ([race(41, 20), race(43, 20)], "1 finding, race at kernel.cu:41; 1 more follows from it"),
        ([race(41, 20), race(90, 80)], "2 findings, first race at kernel.cu:41"),
        (
            [race(41, 20), race(90, 80), race(43, 20), race(44, 20)],
            "2 findings, first race at kernel.cu:41; 2 more follow from them",
        ),
        ([Finding("hang", "it does not end")], "1 finding, hang"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_causes_are_counted_and_the_first_is_named(found: list[Finding], said: str) -> None:
    assert in_words(found) == said


def test_of_a_race_seen_in_several_cases_the_widest_is_kept_with_all_occurrences() -> None:
    in_warp, between_warps = (replace(race(41, 20), between=whom) for whom in ("lanes", "warps"))
    reports = [Report(findings=(one,)) for one in (in_warp, between_warps, in_warp)]
    assert merge(reports) == [replace(between_warps, count=3)]
