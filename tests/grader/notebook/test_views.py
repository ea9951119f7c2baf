"""What each answer shows in a notebook, and that nothing a student wrote can be more than text in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from common.virtual_gpu.report import Span, Timeline
from grader.course.starters import Todo
from grader.notebook.views import timeline_view
from grader.notebook.views.answers_view import Answers, Questions
from grader.notebook.views.check_view import Check, Untouched
from grader.notebook.views.display import MOST_HTML, MOST_TEXT, Display, excerpt, sentence
from grader.notebook.views.hints_view import Hints
from grader.notebook.views.line_costs import MEASURES, stalls
from grader.notebook.views.part_view import PartView
from grader.notebook.views.profile_view import ProfileView
from grader.notebook.views.roofline import roofline
from grader.notebook.views.timeline_view import TimelineView
from grader.notebook.views.warp_lanes import LEVELS, Flight, common, lanes, overlap, united
from grader.questions.grading import grade
from grader.records.record import CaseResult, Record
from grader.spec.question import Counted, Factor, Question
from grader.spec.registry import find
from tests.grader.fake_pipeline import make_record
from tests.grader.notebook.html_reading import read
from tests.grader.notebook.seen_fixtures import launch, seen

HOSTILE = "</pre></td><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m & 'quoted' \"twice\""


def check_of(record: Record, remark: str = "", file: str = "kernel.cu") -> Check:
    return Check(find("01"), record, [Todo(1, "TODO 1: copy")], remark, file)


def hostile_record() -> Record:
    record = make_record(right=False, source=HOSTILE + "\n" + HOSTILE)
    diagnostic = {"file": "kernel.cu", "line": 1, "severity": "error", "message": HOSTILE, "hint": HOSTILE}
    finding = {**record.findings[0], "kind": HOSTILE, "message": HOSTILE, "advice": HOSTILE}
    return dataclasses.replace(
        record,
        verdict=HOSTILE,
        output=HOSTILE,
        diagnostics=[diagnostic, {**diagnostic, "file": HOSTILE}],
        findings=[finding],
        cases=[CaseResult(HOSTILE, True, {HOSTILE: 1}, False, HOSTILE, HOSTILE)],
        parts=[dataclasses.replace(record.parts[0], name=HOSTILE, message=HOSTILE)],
        mechanisms=[dataclasses.replace(record.mechanisms[0], name=HOSTILE, message=HOSTILE)],
        speed=make_record().speed,
    )


def test_a_right_kernel_has_its_verdict_first_then_mechanisms_speed_and_points():
    shown = check_of(make_record())
    text = read(shown).text
    assert text.startswith("PASSED: full marks · 10/10 points")
    places = [text.index(word) for word in ("2 of 2 cases", "1 launch", "Modelled by", "total")]
    assert places == sorted(places)
    assert shown.passed
    assert shown.points == 10
    assert "Correctness: PASSED" in repr(shown)


def test_a_wrong_kernel_has_its_case_and_its_findings_on_marked_lines():
    shown = check_of(make_record(right=False))
    html = read(shown)
    assert html.text.startswith("FAILED: wrong answer")
    for words in ("hidden 1 (tokens 77)", "race line 2: thread (0,0,0) writes tile", "Put __syncthreads()"):
        assert words in html.text
    assert html.texts("span", "marked") == 1
    assert "▶    2  line two" in html.text
    assert "line 1: TODO 1: copy" in html.text
    assert not shown.passed


def test_build_errors_are_shown_at_their_lines():
    error = {"file": "kernel.cu", "line": 2, "column": 3, "severity": "error", "message": "no such name"}
    warning = {**error, "severity": "warning", "message": "an unused one"}
    record = dataclasses.replace(
        make_record(right=False), cases=[], findings=[], diagnostics=[warning, {**error, "hint": "spell it"}]
    )
    html = read(check_of(record))
    assert "error line 2: no such name" in html.text
    assert "Hint: spell it" in html.text
    assert "an unused one" not in html.text
    assert html.texts("span", "marked") == 1


HOSTILE_VIEWS: dict[str, Callable[[], Display]] = {
    "check": lambda: check_of(hostile_record(), HOSTILE, HOSTILE),
    "untouched": lambda: Untouched(find("01"), [Todo(1, HOSTILE)], HOSTILE),
    "part": lambda: PartView(HOSTILE, 10.0, check_of(hostile_record())),
    "part of none": lambda: PartView(HOSTILE, 10.0, sentence(HOSTILE)),
    "hints": lambda: Hints(dataclasses.replace(find("01"), hints=(HOSTILE, HOSTILE))),
    "profile": lambda: ProfileView(
        seen(HOSTILE + "\n" + HOSTILE, HOSTILE, [launch(HOSTILE + "$\\frac{")]), "sectors"
    ),
    "profile of nothing": lambda: ProfileView(seen(launches=[]), "sectors"),
    "timeline": lambda: TimelineView(seen(HOSTILE + "\n" + HOSTILE, HOSTILE), 4),
    "sentence": lambda: sentence(HOSTILE + "\n" + HOSTILE),
    "questions": lambda: Questions([hostile_question()]),
    "answers": lambda: hostile_answers(),
}


def hostile_question(name: str = HOSTILE) -> Question:
    return Question(name, HOSTILE, Factor(), Counted("launches", HOSTILE), why=HOSTILE)


def hostile_answers() -> Answers:
    asked = [hostile_question(), hostile_question("pending")]
    given = {HOSTILE: 1, "pending": 1, f"unknown {HOSTILE}": 1}
    return Answers(HOSTILE, grade(asked, given, {HOSTILE: 2}), {"pending": HOSTILE})


@pytest.mark.parametrize("view", HOSTILE_VIEWS)
def test_hostile_text_is_escaped(view: str):
    shown = HOSTILE_VIEWS[view]()
    html = read(shown)  # holds the elements against a list
    assert "<script" not in shown._repr_html_()
    assert "\x1b" not in html.text


def test_answers_are_bounded_whatever_a_student_wrote():
    long = "x" * 20_000
    record = dataclasses.replace(
        hostile_record(),
        source="\n".join([long] * 10),
        output=long,
        verdict=long,
        findings=[{**hostile_record().findings[0], "message": long}] * 100,
        cases=[CaseResult(long, True, {}, False, long, long)] * 100,
    )
    shown = check_of(record)
    assert len(shown._repr_html_()) <= MOST_HTML
    assert len(repr(shown)) <= MOST_TEXT + 2
    profiled = ProfileView(seen("\n".join([long] * 10)), "sectors")
    assert len(profiled._repr_html_()) <= MOST_HTML


def test_the_profile_has_totals_bounds_a_roofline_and_a_warm_line():
    html = read(ProfileView(seen(), "sectors"))
    for words in (
        "kernel.cu at 64 tokens (tokens 64)",
        "modelled: 4 us alone from a cold L2",
        "50%, limited by shared",
        "cp.async",
        "latency bounds it",
        "coloured by sectors",
    ):
        assert words in html.text, words
    assert html.texts("img") == 1
    warm = [a["style"] for t, a in html.elements if t == "td" and a.get("class") == "code"]
    assert sum("0.600" in (style or "") for style in warm) == 1


@pytest.mark.parametrize("show", MEASURES)
def test_the_source_can_be_coloured_by_every_measure(show: str):
    assert f"coloured by {MEASURES[show].heading}" in read(ProfileView(seen(), show)).text


def test_a_wrong_answer_is_reported_above_its_profile():
    assert "Its answer is wrong here" in read(ProfileView(seen(wrong="k[0] is off"), "sectors")).text


def test_the_timeline_shows_copies_beside_work_and_where_it_waits():
    shown = TimelineView(seen(), 4)
    html = read(shown)
    assert html.texts("img") == 1
    assert "Data is in flight to a warp for 250 ns; during 20% of that time" in html.text
    assert "line 3: 100 % of all waiting" in html.text
    assert "beside 3 more on its multiprocessor" in html.text


@pytest.mark.parametrize("instructions", [640, 6_400, 64_000])
def test_the_legend_of_a_roofline_covers_nothing(instructions: int):
    counted = launch()
    counted["counters"] = {**counted["counters"], "warp_instructions": instructions}
    figure = roofline(seen(launches=[counted]))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    labels = axes.xaxis.get_tightbbox()
    assert labels is not None
    assert not legend.get_window_extent().overlaps(labels)


def test_a_timeline_without_waits_has_no_heading_for_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timeline_view, "stalls", lambda timeline: {})
    assert "Where it waits longest" not in read(TimelineView(seen(), 4)).text


def test_the_lanes_of_a_warp():
    timeline = seen().timeline
    assert timeline is not None
    (first, second) = lanes(timeline, 8)
    assert first.flights == [Flight("async copy", 0.0, 500.0, 0)]
    assert first.doing["wait"] == [(100.0, 500.0)]
    assert first.doing["barrier"] == [(504.0, 600.0)]
    assert first.doing["tensor"] == [(601.0, 602.0)]
    assert second.warp == 1
    assert overlap([first]) == (500.0, 100.0)
    assert len(lanes(timeline, 1)) == 1
    assert stalls(timeline)[3] > 99


def test_overlapping_flights_are_stacked():
    spans = [Span(0, "global load", 1, at, at, at + 100) for at in (*range(8), 300)]
    (warp,) = lanes(Timeline(1, False, 2e9, tuple(spans)), 4)
    assert [flight.level for flight in warp.flights] == [*range(LEVELS), LEVELS - 1, LEVELS - 1, 0]
    assert overlap([warp])[0] == 207


def test_intervals():
    assert united([(3, 5), (0, 1), (1, 2), (4, 4)]) == [(0, 2), (3, 5)]
    assert common([(0, 2), (3, 5)], [(1, 4)]) == 2


def test_an_excerpt_outside_of_the_file_is_none():
    assert excerpt("one\ntwo", 3) is None
    assert excerpt("one\ntwo", 0) is None
    assert "▶    1" in str(excerpt("one\ntwo", 1))
