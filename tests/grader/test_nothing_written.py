"""A launch that ran and wrote nothing: the message names what kept it from writing, and the line."""

from __future__ import annotations

from typing import Any

import pytest

from common.virtual_gpu.report import Report
from grader.answers.nothing_written import why_nothing
from tests.grader.notebook.seen_fixtures import launch


def line(number: int, **counters: int) -> dict[str, Any]:
    return {"file": "/home/student/kernel.cu", "line": number, "counters": counters}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [line(10, branches=4), line(30, branches=4), line(31, warp_instructions=4)],
            "k<1> ran in 4 blocks of 64 threads, and none came to a store to out. The last condition that "
            "they met is at kernel.cu:30",
        ),
        ([line(10), line(12)], "The last line that ran is kernel.cu:12: the store is still to be written"),
        ([], "none came to a store to out: the store is still to be written"),
        ([line(40, global_store_requests=2)], "stores, at kernel.cu:40, does not go to out"),
    ],
)
def test_what_ran_tells_why_nothing_was_written(lines: list[dict[str, Any]], words: str):
    report = Report.from_dict({"profile": "h200", "launches": [{**launch(), "lines": lines}]})
    assert words in why_nothing(report, "copy", "out")


def test_a_call_without_a_launch_is_named_and_without_a_virtual_gpu_nothing_is_known():
    assert "No kernel was launched: copy() returned" in why_nothing(Report(profile="h200"), "copy", "out")
    assert why_nothing(Report(), "copy", "out") == ""
