"""From release to feedback through nbgrader's exchange: what students get, hand in and get back."""

from __future__ import annotations

import csv
import datetime
import json
import re

import pytest

from grader.nbgrader.apps import must_succeed, nbgrader_functions, run_nbgrader
from grader.nbgrader.exchange import fetch, submit
from tests.nbgrader.small_course import FIRST, SEED
from tests.nbgrader.tiny_notebook import QUESTION


@pytest.fixture(scope="module")
def term(small_class, tmp_path_factory):
    """One assignment from release to feedback; `late` hands in a day and an hour after the due date."""
    folder = small_class.folder
    config = folder.root / "nbgrader_config.py"
    config.write_text(config.read_text().replace("# c.LatePerDay.percent", "c.LatePerDay.percent"))
    homes = tmp_path_factory.mktemp("homes")
    due = datetime.datetime(2030, 1, 1, 12)
    with nbgrader_functions(folder) as functions:
        with functions.gradebook as book:
            book.update_or_create_assignment(FIRST, duedate=str(due))
        must_succeed("release", functions.release_assignment(FIRST))
        for name in ("early", "late", "linking"):
            place = fetch(functions, name, FIRST, homes / name)
            (place / "kernel.cu").write_text("// fine, and mine\n")
            plant_scripts(place / f"{FIRST}.ipynb")
            submit(functions, name, FIRST, homes / name)
        plant_links(folder)
        must_succeed("collect", functions.collect(FIRST))
    (folder.handed_in("early", FIRST) / "submission_secret.txt").unlink()
    (folder.handed_in("early", FIRST) / "timestamp.txt").unlink()
    stamp = folder.handed_in("late", FIRST) / "timestamp.txt"
    stamp.write_text(f"{due + datetime.timedelta(days=1, hours=1)} UTC")
    graded = small_class.autograde()
    with nbgrader_functions(folder) as functions:
        must_succeed("feedback", functions.generate_feedback(FIRST))
        must_succeed("release of feedback", functions.release_feedback(FIRST))
    return graded


SCRIPT = "$a <b$ <script>alert(1)</script> <img src=x onerror=alert(2)> [link](javascript:alert(3))"


def plant_scripts(notebook):
    """HTML wherever a page would show it: in an answer, in Markdown, in a raw cell, among the outputs."""
    plain = json.loads(notebook.read_text())
    for cell in plain["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == QUESTION:
            cell["source"] = SCRIPT
    for kind in ("markdown", "raw", "code"):
        plain["cells"].append({"cell_type": kind, "id": f"mine-{kind}", "metadata": {}, "source": SCRIPT})
    plain["cells"][-1] |= {"execution_count": None, "outputs": [HTML_OUTPUT]}
    notebook.write_text(json.dumps(plain))


HTML_OUTPUT = {"output_type": "display_data", "metadata": {}, "data": {"text/html": SCRIPT}}


def plant_links(folder):
    """What a student can do to the own folder in the exchange after submitting."""
    [inbound] = folder.exchange.glob("*/inbound/linking+*")
    secret = folder.root.parent / "solutions" / FIRST / "kernel.cu"
    inbound.chmod(0o755)
    (inbound / "kernel.cu").unlink()
    (inbound / "kernel.cu").symlink_to(secret)
    (inbound / "notes.txt").symlink_to(secret)
    (inbound / "timestamp.txt").unlink()
    deep = inbound.joinpath(*["a"] * 40)
    deep.mkdir(parents=True)
    (deep / "notes.txt").write_text("far down")
    # Whoever may submit may make any name there.
    when = "2029-12-31 12:00:00 UTC+abc"
    (inbound.parent / f"folder+{FIRST}+{when}").symlink_to(secret.parent)
    (inbound.parent / f"file+{FIRST}+{when}").write_text("no folder")
    (inbound.parent / f"dateless+{FIRST}+soon+abc").mkdir()


def test_students_get_the_notebook_and_the_starter_and_nothing_else(small_class, term):
    [released] = small_class.folder.exchange.glob(f"*/outbound/{FIRST}")
    assert sorted(path.name for path in released.iterdir()) == [f"{FIRST}.ipynb", "kernel.cu"]
    assert (released / "kernel.cu").read_text() == "// wrong: the starter\n"


def test_the_kernel_that_was_handed_in_is_the_one_that_was_graded(small_class, term):
    kept = small_class.folder.root / "autograded" / "early" / FIRST / "kernel.cu"
    assert kept.read_text() == "// fine, and mine\n"
    assert term["early"].points == 10


def test_each_late_day_costs_its_share(term):
    assert term["late"].points == 10 - 0.2 * 10  # two days begun, 10 % each


def test_a_link_is_not_followed_with_the_instructors_rights(small_class, term):
    assert term["linking"].points == 0
    steps = ("submitted", "autograded", "feedback", "grades")
    files = [path for step in steps for path in (small_class.folder.root / step).rglob("*") if path.is_file()]
    assert [path for path in files if "the secret of the solution" in path.read_text()] == []
    assert "kernel.cu was a symbolic link" in small_class.autograded("linking").cells[0].source.replace(
        "\\", ""
    )


def test_an_entry_that_is_not_a_students_folder_is_skipped(small_class, term):
    assert sorted(term) == ["early", "late", "linking"]
    stamp = (small_class.folder.handed_in("linking", FIRST) / "timestamp.txt").read_text()
    assert f"+{stamp}+" in next(small_class.folder.exchange.glob("*/inbound/linking+*")).name
    assert "nested too deeply" in small_class.autograded("linking").cells[0].source
    assert list(small_class.folder.handed_in("linking", FIRST).rglob("notes.txt")) == []


def test_feedback_shows_points_and_reasons_and_no_seed(small_class, term):
    page = (small_class.folder.root / "feedback" / "early" / FIRST / f"{FIRST}.html").read_text()
    for words in (
        "correct: 5/5 points",
        "2 of 2 cases passed",
        "one token",
        "speedup over the baseline",
        "1.44",
    ):
        assert words in page
    assert SEED not in page


def test_feedback_is_released_although_one_came_without_a_date_and_a_secret(small_class, term):
    assert len(list(small_class.folder.exchange.glob("*/feedback/*.html"))) == 3


def test_a_page_runs_no_script_of_a_student(small_class, term):
    page = (small_class.folder.root / "feedback" / "early" / FIRST / f"{FIRST}.html").read_text()
    assert re.sub("<[^>]*>", "", page).count("alert(1)") == 4  # the answer and three cells, as text
    for harm in ("<script>alert", "<img src=x", 'href="javascript:alert'):
        assert harm not in page


def test_the_table_has_what_the_gradebook_has(small_class, term, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_nbgrader(small_class.folder, ["export", "--to=grades.csv"]) == 0
    rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "grades.csv").open())}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        name: one.points for name, one in term.items()
    }
    assert float(rows["late"]["late_submission_penalty"]) == 2


def test_what_can_be_fetched_is_listed(small_class, term, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    assert run_nbgrader(small_class.folder, ["list"]) == 0
    assert run_nbgrader(small_class.folder, ["fetch_assignment", FIRST]) == 0
    assert (tmp_path / FIRST / "kernel.cu").is_file()


def test_a_moved_due_date_and_a_changed_penalty_reach_the_points(small_class, term, capsys):
    """The last test here: it changes the class."""
    folder = small_class.folder
    with nbgrader_functions(folder) as functions, functions.gradebook as book:
        book.update_or_create_assignment(FIRST, duedate=str(datetime.datetime(2030, 1, 2, 12)))
    capsys.readouterr()
    assert small_class.autograde()["late"].points == 10 - 0.1 * 10  # one day begun
    note = "in the gradebook, made before the due date, an extension or the penalty changed: written again"
    assert note in capsys.readouterr().err
    config = folder.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.LatePerDay.percent = 50\n")
    assert small_class.autograde()["late"].points == 10 - 0.5 * 10
