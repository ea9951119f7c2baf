"""The page on a class's results: the spread of points, mistakes by name, times; nobody's name."""

from __future__ import annotations

import re

from grader.records.record import MechanismResult, Record
from grader.render.pages.statistics_page import write_statistics
from tests.grader.fake_pipeline import SEED, make_record


def rows(page: str, title: str) -> list[list[str]]:
    after = page.partition(f"<h3>{title}</h3>")[2].partition("</table>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in after.split("<tr>")[2:]]


def class_of_four() -> list[Record]:
    """Two are right, one of them slow; two are wrong, both by the same mistake, and one with a race."""
    right, slow, wrong, racing = (make_record(name) for name in ("ada", "ben", "cleo", "dan"))
    slow.parts[1].points, slow.points = 2.0, 7.0
    for record in (wrong, racing):
        record.parts[0].points, record.parts[1].points, record.points = 0.0, 0.0, 0.0
        record.findings = []
        for case in record.cases:
            case.passed, case.reason = False, "mismatch"
            case.message = "12 wrong. It looks like this: the last row is left out"
    racing.findings = [{"kind": "race"}, {"kind": "race"}]
    racing.mechanisms = [MechanismResult("1 launch", False, "2 launches")]
    for record in (right, slow):
        record.findings = []
    return [right, slow, wrong, racing]


def test_parts_mistakes_and_times_are_counted_by_submission(tmp_path):
    page = write_statistics(class_of_four(), tmp_path / "statistics.html").read_text()
    assert "4 submissions, 1 with full marks. Points: median 3.5, mean 4.25, from 0 to 10." in page
    parts = {row[0]: row[1:] for row in rows(page, "Points of each part")}
    assert parts["correct"] == ["5", "2.5", "2", "", "", "", "", "", "2"]
    assert parts["speed"] == ["5", "1", "2", "", "", "1", "", "", "1"]
    first, *others = rows(page, "Most frequent mistakes")
    assert first == ["the last row is left out", "answers", "2"]
    assert sorted(others) == [["race", "findings", "1"], ["without: 1 launch", "mechanisms", "1"]]
    assert rows(page, "Time of a grading")


def test_the_page_names_no_student_and_no_seed(tmp_path):
    page = write_statistics(class_of_four(), tmp_path / "statistics.html").read_text()
    assert not [name for name in ("ada", "ben", "cleo", "dan", SEED) if name in page]
