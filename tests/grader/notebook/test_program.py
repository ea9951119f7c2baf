"""run_file in a cell: findings and counters, or a sentence; and the figures that notebooks draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.notebook import figures, run_file
from grader.notebook.views.display import Display
from grader.notebook.views.profile_view import ProfileView
from grader.notebook.views.program_view import ProgramView
from tests.grader.notebook.html_reading import read
from tests.grader.notebook.seen_fixtures import launch, seen

HOSTILE = "<script>alert(1)</script>\x1b[31m"
RACE = {
    "kind": "race",
    "message": "thread (1,0,0) writes tile",
    "advice": "put __syncthreads() there",
    "place": [{"file": "kernel.cu", "line": 2, "function": "k"}],
    "count": 3,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(**changes: Any) -> dict[str, Any]:
    """What the grader process answers for a program with one launch."""
    report = {"profile": "h200", "findings": [], "launches": [launch()]}
    plain = {"file": "kernel.cu", "source": seen().source, "warnings": [], "ending": "", "printed": "hello"}
    return {**plain, "report": report, **changes}


def test_a_program_has_what_it_printed_and_what_each_line_costs():
    html = read(ProgramView(found(), "sectors"))
    assert html.text.startswith("kernel.cu: no findings")
    for words in ("hello", "Launches", "cp.async", "coloured by sectors"):
        assert words in html.text, words


def test_a_finding_is_shown_at_its_line_in_a_notebook():
    report = {"profile": "h200", "findings": [RACE], "launches": [launch()]}
    shown = ProgramView(found(report=report), "sectors")
    html = read(shown)
    assert html.text.startswith("kernel.cu: 1 finding")
    assert "race line 2: thread (1,0,0) writes tile (3 times)" in html.text
    assert html.texts("span", "marked") == 1
    assert "put __syncthreads() there" in repr(shown)
    assert [finding.kind for finding in shown.findings] == ["race"]


def test_a_program_that_ends_badly_or_launches_nothing_says_so():
    nothing = {"profile": "h200", "findings": [], "launches": []}
    shown = ProgramView(found(ending="exit status 7", report=nothing), "sectors")
    assert read(shown).text.startswith("kernel.cu: exit status 7; no findings")


def test_what_a_program_prints_is_text():
    shown = ProgramView(found(printed=HOSTILE, warnings=[HOSTILE], source=HOSTILE, file=HOSTILE), "sectors")
    html = read(shown)
    assert "<script" not in shown._repr_html_()
    assert "\x1b" not in html.text


def test_what_cannot_run_is_a_sentence(folder: Path):
    assert "there is no none.cu in" in read(run_file("none.cu")).text
    (folder / "bad.cu").write_text("int main() { return no_such_name; }\n")
    assert "show is one of" in read(run_file("bad.cu", show="heat")).text
    assert "no_such_name" in read(run_file("bad.cu")).text


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: figures.scattered_pages([2, 0], 4), "indices[token] names the page"),
        (lambda: figures.wide_table(2, 3, 3, 5), "the two strides differ"),
        (lambda: figures.copies_by_size({"vector": 4, "table": 396}), "The largest has 99.0% of all bytes"),
        (lambda: figures.warp_sectors([1, 8]), "whole sectors of 32 bytes"),
        (lambda: figures.warp_banks([1, 32]), "number of turns"),
        (
            lambda: figures.launches_in_time(
                {"one": ProfileView(seen(), "sectors"), "none": Display("it failed")}
            ),
            "one: 1; none: did not run",
        ),
    ],
    ids=["pages", "table", "sizes", "sectors", "banks", "launches"],
)
def test_a_figure_is_a_picture_with_a_caption(draw: Callable[[], Display], words: str):
    shown = draw()
    html = read(shown)
    assert html.texts("img") == html.texts("figcaption") == 1
    assert words in html.text
    assert words in repr(shown)
