"""Pages, tables and files made from records: complete, harmless, and without the instructor's seed."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from grader.classes import progress
from grader.records.record import CaseResult, Record, Speed, SpeedCase
from grader.render import terminal, traffic
from grader.render.csv import write_csv
from grader.render.gradescope import results
from grader.render.pages import plots
from grader.render.pages.class_page import write_pages
from grader.render.pages.html import cases_table, submission_page
from grader.render.pages.markup import tag
from grader.render.profile import source_table
from grader.render.public import for_student
from grader.words import numbers, text
from tests.grader.fake_pipeline import SEED, make_record

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e\"' & =cmd|'/c calc'!A1"


def hostile_record() -> Record:
    """A record in which every text that a student can reach is an attack."""
    record = make_record(EVIL, source=f'{EVIL}\n{EVIL}\n"{SEED}"\n', right=False)
    record.verdict = record.output = EVIL
    record.flags = [EVIL, f"seed {SEED}"]
    record.diagnostics = [{"severity": "error", "file": EVIL, "line": 1, "message": EVIL, "context": [EVIL]}]
    record.cases[1].message = record.cases[1].reason = record.cases[0].name = EVIL
    record.findings[0]["message"] = record.findings[0]["place"][0]["file"] = EVIL
    record.launches[0]["kernel"] = EVIL
    record.parts[0].message = record.mechanisms[0].message = f"{EVIL} {SEED}"
    record.speed = make_record().speed
    assert record.speed is not None
    record.speed.cases[0].name = record.speed.cases[0].note = record.speed.targets[0].message = EVIL
    return record


class Reader(HTMLParser):
    """Collects elements and attributes as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("record", [make_record(), make_record(right=False), hostile_record()])
def test_a_page_is_self_contained_and_runs_nothing(record):
    page = submission_page(record)
    seen = Reader(page)
    assert not seen.elements & {"script", "img", "iframe", "object", "embed", "link", "form", "base", "a"}
    assert not [
        name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href", "xlink:href")
    ]
    assert not [value for _, value in seen.attributes if "http" in value or "url(" in value]
    assert any("default-src 'none'" in value for name, value in seen.attributes if name == "content")
    assert not any(char in page for char in "\x1b\u202e\x00")
    assert "alert(1)" in seen.text or "alert(1)" not in json.dumps(record.to_dict())


def test_a_page_shows_all_a_student_should_know():
    wrong = Reader(submission_page(make_record(right=False), "not official: elsewhere")).text
    for words in (
        "wrong answer",
        "3/10 points",
        "hidden 1",
        "mismatch: off",
        "race",
        "kernel.cu:2",
        "hello",
        "not official",
    ):
        assert words in wrong
    right = submission_page(make_record())
    assert "load 8 × 4.0 sectors" in right, "counters stand beside the line"
    assert "Modelled by the virtual GPU, not measured." in right
    assert right.count("<svg") == 2
    assert "/somewhere" not in right


def test_the_seed_stays_with_the_instructor(tmp_path):
    record = hostile_record()
    write_csv([record], tmp_path / "grades.csv", official=True)
    write_pages([record], tmp_path / "pages")
    made = [submission_page(record), json.dumps(results(record)), (tmp_path / "grades.csv").read_text()]
    made += [path.read_text() for path in (tmp_path / "pages").rglob("*.html")]
    assert len(made) == 6  # an index, a page and statistics among them
    assert not [place for place in made if SEED in place]
    assert SEED in json.dumps(record.to_dict()), "the record itself is repeatable"
    assert for_student(make_record()).points == make_record().points


def test_names_of_students_cannot_leave_the_folder_of_pages(tmp_path):
    records = [make_record(name, name) for name in ("../../x", "a/b", "<b>", "..")]
    index = write_pages(records, tmp_path / "pages")
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".html"}
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} == {"pages"}
    links = [value for name, value in Reader(index.read_text()).attributes if name == "href"]
    assert len(links) == 5  # four pages, and statistics
    assert all((index.parent / link).is_file() for link in links)


def test_a_spreadsheet_meets_no_formula(tmp_path):
    records = [make_record("=1+1"), make_record("@x", right=False), hostile_record()]
    write_csv(records, tmp_path / "grades.csv", official=False)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text())))
    assert [row["submission"] for row in rows[:2]] == ["'=1+1", "'@x"]
    assert not [cell for row in rows for cell in row.values() if cell[:1] in ("=", "+", "@")]
    assert (rows[0]["points"], rows[0]["max points"], rows[0]["speed points"]) == ("10.0", "10.0", "5.0")
    assert (rows[0]["official"], rows[0]["modelled"], rows[1]["speedup"]) == ("no", "yes", "")


def test_gradescope_gets_points_by_part_and_the_cases():
    made = results(make_record(right=False), "not official")
    assert made["score"] == 3.0
    assert "not official" in made["output"]
    parts = {test["name"]: test for test in made["tests"] if "max_score" in test}
    assert {name: (part["score"], part["max_score"]) for name, part in parts.items()} == {
        "correct": (3.0, 5.0),
        "speed": (0.0, 5.0),
    }
    [failed] = [test for test in made["tests"] if "hidden" in test["name"]]
    assert (failed["status"], failed["output"]) == ("failed", "off")
    json.dumps(made)


def test_the_terminal_shows_no_control_sequence():
    shown = terminal.summary(hostile_record()) + terminal.class_table([hostile_record()])
    assert not any(char in shown for char in "\x1b\u202e\r")


def test_the_terminal_shows_everything_once():
    shown = terminal.summary(make_record(right=False))
    for words in (
        "wrong answer",
        "one token",
        "passed",
        "failed",
        "race",
        "kernel.cu:2",
        "seen     1 launch",
        "hello",
    ):
        assert words in shown
    good = terminal.summary(make_record())
    assert "speed, modelled" in good
    assert "met        speedup over the baseline, 7 cases 1.44 (passing 1.15, full marks 1.40)" in good
    assert "262" not in good, "bandwidth, not bytes"


def test_tables_are_drawn_with_rich_and_without(monkeypatch):
    pytest.importorskip("rich")
    rows = [("[bold]x[/bold]", "passed", "3"), ("y", "failed", "12")]
    plain = text.table(("name", "result", ">count"), rows)
    assert plain.splitlines()[-1] == "y               failed     12"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    drawn = text.table(("name", "result", ">count"), rows)
    assert "[bold]x[/bold]" in drawn, "a student's text is no markup"
    assert "\x1b[" in drawn
    assert text.table(("name", "result", ">count"), rows, plain=True) == plain


def test_progress_is_lines_without_a_terminal(capsys):
    with progress.run_progress(2) as shown:
        shown.workers(4)
        shown.says("alice", "building")
        shown.finished("alice", "full marks")
        shown.finished("bob", "wrong answer")
    first, second = capsys.readouterr().err.splitlines()
    pace = r"\(4 workers, [\d.]+ per minute, about \d+ s left\)"
    assert re.fullmatch(rf"\[1/2\] alice: full marks {pace}", first)
    assert second == "[2/2] bob: wrong answer"


def test_the_progress_bar_accepts_markup_in_names():
    pytest.importorskip("rich")
    with progress.BarProgress(1) as shown:
        shown.says("[red]alice", "building")
        shown.finished("[red]alice", "full marks")


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (numbers.seconds(12.34e-6), "12.3 us"),
        (numbers.seconds(1.5), "1.5 s"),
        (numbers.seconds(250e-6), "250 us"),
        (numbers.seconds(0), "–"),
        (numbers.seconds(float("nan")), "–"),
        (numbers.microseconds(12.346e-6), "12.35 us"),
        (numbers.bandwidth(3.412e12), "3.41 TB/s"),
        (numbers.size(1 << 14), "16 KiB"),
        (numbers.size(100), "100 bytes"),
        (numbers.points(12.5), "12.5"),
        (numbers.points(100), "100"),
        (numbers.duration(3700), "62 min"),
        (numbers.duration(9000), "2 h 30 min"),
        (numbers.short_kernel("void k<int, (long)3>(int*, float)"), "k<int, (long)3>"),
        (numbers.short_kernel("mine::(anonymous namespace)::k(int*)"), "mine::k"),
        (numbers.short_kernel("(anonymous namespace)::k(int*)"), "k"),
    ],
)
def test_numbers_have_units(made, wanted):
    assert made == wanted


def test_plots_accept_any_numbers():
    def case(seconds: float, ratio: float, size: int) -> SpeedCase:
        return SpeedCase("c", {}, seconds, seconds, ratio, ratio, ratio, size)

    odd = [case(0.0, 0.0, 0), case(1e-6, float("inf"), 1), case(1e-6, 1e9, 1 << 40), case(1e-6, -1.0, 5)]
    for chosen in ([], odd[:1], odd[1:2], odd):
        speed = Speed(True, chosen)
        for drawn in (plots.speedups(speed), plots.bandwidths(speed)):
            assert drawn is None or ("nan" not in drawn and "inf" not in drawn)


def test_plots_are_well_formed():
    speed = make_record().speed
    assert speed is not None
    for drawn in (plots.speedups(speed), plots.bandwidths(speed)):
        assert drawn is not None
        figure = ElementTree.fromstring(drawn)
        assert [child.tag for child in figure] == ["svg", "figcaption"]


def test_a_short_seed_is_blotted_out_of_words_and_not_out_of_numbers():
    record = for_student(dataclasses.replace(make_record(seed="10"), output="it was 10"))
    assert (record.seed, record.output, record.points) == ("", "it was (not shown)", 10.0)


def test_markup_escapes_children_and_attributes():
    assert tag("p", "<b>", tag("i", "&"), title='"x') == '<p title="&quot;x">&lt;b&gt;<i>&amp;</i></p>'


def test_costs_are_shown_beside_their_lines():
    counts = {2: {"global_load_requests": 4, "global_load_sectors": 64, "warp_instructions": 9}}
    shown = source_table("a\nb\nc\nd\n", counts)
    assert "64             9  b" in shown
    assert "^ load 4 × 16.0 sectors" in shown
    assert "  d" not in shown
    assert traffic.heat({**counts, 3: {"warp_instructions": 3}}) == {2: 1.0, 3: pytest.approx(1 / 3)}
    long = "    const int sum = " + " + ".join(f"element_{number}" for number in range(20)) + ";"
    folded = source_table(f"a\n{long}\nc\n", counts).partition("const")[2].partition("^")[0]
    assert "".join(folded.split()) == "".join(long.partition("const")[2].split())
    assert max(map(len, folded.splitlines())) <= 110
    conflicts = {"shared_load_requests": 2, "shared_load_wavefronts": 8, "shared_load_conflicts": 6}
    assert traffic.words(conflicts) == "shared load 2 × 4.0 wavefronts; 6 bank conflicts"


def test_a_record_without_speed_or_source_still_makes_a_page():
    bare = dataclasses.replace(
        make_record(), speed=None, source="", cases=[], parts=[], lines=[], launches=[]
    )
    assert "<h1>" in submission_page(bare)
    assert terminal.summary(bare)


def test_why_a_case_failed_is_said_once():
    said = [("not run", "not run, because of another"), ("crash", "it ended"), ("timeout", ""), ("", "")]
    page = str(cases_table([CaseResult("one", True, {}, not why, why, what) for why, what in said]))
    assert ">not run, because of another<" in page
    assert ">crash: it ended<" in page
    assert ">timeout<" in page


def test_a_table_of_cases_shows_the_sizes_that_differ_and_the_usual_ones_once():
    sizes = [{"tokens": tokens, "heads": heads} for tokens, heads in ((1, 8), (70_000, 8), (3, 2), (4, 8))]
    page = str(cases_table([CaseResult(f"case {size}", True, size, True) for size in sizes]))
    assert numbers.usual_sizes(sizes) == {"heads": 8}
    assert ">tokens 70,000<" in page
    assert ">tokens 3, heads 2<" in page
    assert page.count("heads 8<") == 1
    assert numbers.sizes({"heads": 8}, {"heads": 8}) == "the usual"
    assert numbers.usual_sizes(sizes[:1]) == {}, "one case has no usual"


def test_a_column_of_sentences_is_wrapped_and_never_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    sentence = " ".join(f"word{number}" for number in range(60))
    rows = [("one", sentence), ("two", "short")]
    lines = text.table(("part", "~why"), rows, plain=True).splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines[2:-1]).removeprefix("one").split()) == sentence
    assert lines[-1] == "two   short"


def test_a_note_behind_an_error_is_shown_and_one_behind_a_warning_is_not():
    said = [
        {"severity": "warning", "message": "unused"},
        {"severity": "note", "message": "declared here"},
        {"severity": "error", "message": "static assertion failed"},
        {"severity": "note", "message": "the comparison reduces to (2 == 1)"},
    ]
    shown = terminal.diagnostics(said)
    assert shown == "error: static assertion failed\nnote: the comparison reduces to (2 == 1)\n"
    assert terminal.diagnostics(said[:2]) == "warning: unused\nnote: declared here\n"
