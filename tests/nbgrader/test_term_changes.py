"""Due dates, extensions, penalties and dropped questions change in the middle of a term: a dry run says what
will change, and the next autograde changes exactly that."""

from __future__ import annotations

import shutil
import sys
from importlib.abc import MetaPathFinder

import pytest

from common.core.errors import CourseError
from grader.classes.class_run import ClassRun, why_graded
from grader.classes.submissions import Submission
from grader.nbgrader.apps import nbgrader_functions
from grader.nbgrader.class_grading import handed_in
from grader.nbgrader.kernels import class_run, grade_kernels, submission_of
from grader.nbgrader.term.apply import DROPPED_SAID
from grader.nbgrader.term.forecast import forecast
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.stand_in import GRADER
from tests.nbgrader.tiny_notebook import QUESTION, cell_of

DUE = "[due]\n01 = 2030-01-10T12:00:00Z\n"
NAMES = ("ada", "ben", "cleo")
KERNEL = 10.0  # points of everything that is graded by machine and right
BEN_LATE = 11.2  # of 14 points, two days begun


@pytest.fixture(scope="module")
def term_class(small_class):
    """Ada is in time, Ben a day and a half late, Cleo five days; ten percent per day begun."""
    config = small_class.folder.root / "nbgrader_config.py"
    config.write_text(config.read_text() + "\nc.LatePerDay.percent = 10\n")
    for name, when in zip(NAMES, ("2030-01-09", "2030-01-11", "2030-01-15"), strict=True):
        notebook = small_class.released
        cell_of(notebook, QUESTION).source = "Because."
        place = small_class.hand_in(name, notebook)
        (place / "timestamp.txt").write_text(f"{when} 23:00:00 UTC")
    return small_class


@pytest.fixture(autouse=True)
def graded(term_class):
    """Before each test: everything graded with the due date, and four points by hand for Ben's answer."""
    (term_class.folder.grades / "by_hand.json").unlink(missing_ok=True)
    say(term_class, DUE)
    term_class.autograde()
    give(term_class, "ben", 4)
    term_class.autograde()


def say(small_class, text: str) -> None:
    small_class.folder.term.write_text(text)


def give(small_class, name: str, points: float | None) -> None:
    with nbgrader_functions(small_class.folder) as functions, functions.gradebook as book:
        grade = book.find_grade(QUESTION, FIRST, FIRST, name)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def expected(small_class):
    folder = small_class.folder
    run = class_run(folder, device="virtual", grader=GRADER)
    return forecast(folder, run, handed_in(folder, [FIRST]))


def points(small_class) -> dict[str, float]:
    return {name: one.points for name, one in small_class.autograde().items() if name in NAMES}


def modified(small_class) -> dict[str, int]:
    autograded = small_class.folder.root / "autograded"
    return {name: next((autograded / name).rglob("*.ipynb")).stat().st_mtime_ns for name in NAMES}


def test_a_penalty_is_of_all_points_those_given_by_hand_included(term_class):
    assert points(term_class) == {"ada": KERNEL, "ben": BEN_LATE, "cleo": 0.4 * KERNEL}


def test_a_dry_run_says_what_an_extension_changes_and_changes_nothing(term_class):
    before = modified(term_class)
    say(term_class, DUE + '[[extension]]\nassignment = "01"\nstudents = ["ben"]\ndays = 1\n')
    found = expected(term_class)
    assert [(one.student, one.now, one.then) for one in found.submissions if one.why] == [
        ("ben", pytest.approx(0.8 * 14), pytest.approx(0.9 * 14))
    ]
    assert modified(term_class) == before
    with nbgrader_functions(term_class.folder) as functions, functions.gradebook as book:
        assert book.find_submission(FIRST, "ben").extension is None


def test_an_extension_changes_its_students_points_alone_and_ends_when_it_is_removed(term_class):
    before = modified(term_class)
    say(term_class, DUE + '[[extension]]\nassignment = "01"\nstudents = ["ben"]\ndays = 2\n')
    assert points(term_class) == {"ada": KERNEL, "ben": KERNEL + 4, "cleo": 0.4 * KERNEL}
    after = modified(term_class)
    assert [name for name in NAMES if after[name] != before[name]] == ["ben"]
    say(term_class, DUE)
    assert points(term_class)["ben"] == BEN_LATE


def test_an_extension_for_somebody_whom_nobody_knows_is_said(term_class):
    extension = '[[extension]]\nassignment = "01"\nstudents = ["ada", "clea"]\ndays = 1\n'
    say(term_class, DUE + extension)
    [said] = expected(term_class).changes
    assert said == "term.toml: nobody called clea has handed in or is in the gradebook; cleo is known"


def measured_before(run: ClassRun, submission: Submission) -> dict[str, float]:
    [(_, _, record)] = why_graded(run, [submission])
    assert record is not None
    return record.measured


def test_a_dry_run_knows_what_was_counted_for_a_submission_without_a_kernel(term_class):
    """Its record is made anew by each run, and then gets the same figures of the baseline."""
    place = term_class.hand_in("dan", term_class.released, kernel=None)
    try:
        run = class_run(term_class.folder, device="virtual", grader=GRADER)
        submission = submission_of(term_class.folder, "dan", FIRST)
        assert measured_before(run, submission) == {}
        [record] = grade_kernels(run, [submission])
        record.measured = {"launches": 3.0}
        record.write(run.record_path(submission))
        assert measured_before(run, submission) == {"launches": 3.0}
    finally:
        shutil.rmtree(place.parent)


def test_a_group_gets_an_extension(term_class):
    say(
        term_class,
        DUE
        + '[groups]\nlab = ["ben", "cleo"]\n'
        + '[[extension]]\nassignment = "01"\ngroups = ["lab"]\nweeks = 1\n',
    )
    assert points(term_class) == {"ada": KERNEL, "ben": KERNEL + 4, "cleo": KERNEL}


def test_a_moved_due_date_is_announced_and_applied(term_class):
    say(term_class, "[due]\n01 = 2030-01-14T12:00:00Z\n")
    found = expected(term_class)
    assert found.changes == (f"{FIRST}: due 2030-01-14 12:00:00 UTC, before 2030-01-10 12:00:00 UTC",)
    then = {one.student: one.then for one in found.submissions if one.student in NAMES}
    assert then == {"ada": KERNEL, "ben": KERNEL + 4, "cleo": 0.8 * KERNEL}
    assert points(term_class) == then


def comment_on_the_answer(small_class, name: str) -> str | None:
    """What the student's feedback says below it."""
    with nbgrader_functions(small_class.folder) as functions, functions.gradebook as book:
        said: str | None = book.find_comment(QUESTION, FIRST, FIRST, name).comment
        return said


def test_a_dropped_question_counts_for_nobody_and_its_points_come_back_with_it(term_class):
    say(term_class, DUE + f'[dropped]\n01 = ["{QUESTION}"]\n')
    then = {one.student: one.then for one in expected(term_class).submissions if one.student in NAMES}
    graded = term_class.autograde()
    assert {name: graded[name].points for name in NAMES} == then
    assert graded["ben"].points == 0.8 * KERNEL
    assert graded["ben"].most == KERNEL + 2
    assert not graded["ada"].by_hand, "nobody has to read a dropped answer"
    assert comment_on_the_answer(term_class, "ben") == DROPPED_SAID
    say(term_class, DUE)
    graded = term_class.autograde()
    assert comment_on_the_answer(term_class, "ben") is None
    assert (graded["ben"].points, graded["ben"].most) == (BEN_LATE, KERNEL + 2 + 5)
    assert graded["ada"].by_hand


def test_a_dropped_cell_must_be_there(term_class):
    say(term_class, DUE + '[dropped]\n01 = ["q-how"]\n')
    with pytest.raises(CourseError, match=r"term\.toml: 01_first has no graded cell 'q-how' to drop; it has"):
        term_class.autograde()


def test_a_newer_submission_is_the_only_one_to_be_graded(term_class):
    kernel = term_class.folder.handed_in("ada", FIRST) / "kernel.cu"
    kernel.write_text("// wrong now")
    found = expected(term_class)
    assert [(one.student, one.why) for one in found.submissions if one.why] == [("ada", "a newer submission")]
    kernel.write_text("// fine")


def test_points_given_by_hand_go_into_a_new_gradebook(term_class, capsys):
    book = term_class.folder.root / "gradebook.db"
    before = points(term_class)
    shutil.copy(book, kept := book.with_suffix(".kept"))
    book.unlink()
    assert points(term_class) == before
    assert f"{FIRST} entered into the gradebook as released" in capsys.readouterr().err
    kept.replace(book)


def test_points_that_left_the_gradebook_are_said_and_kept(term_class, capsys):
    points(term_class)
    give(term_class, "ben", None)
    term_class.autograde()
    said = capsys.readouterr().err
    assert f"ben, {FIRST}, {QUESTION}: points 4.0): kept in " in said
    [old] = term_class.folder.grades.glob("by_hand.*.json")
    assert '"points": 4.0' in old.read_text()
    old.unlink()


class NotInstalled(MetaPathFinder):
    """Python finds no psycopg, as where nobody installed it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "psycopg":
            raise ModuleNotFoundError(f"No module named {name!r}")


def test_a_gradebook_that_cannot_be_opened_is_named_before_anything_is_graded(
    term_class, tmp_path, monkeypatch
):
    from grader.nbgrader.gradebook import check_gradebook

    (tmp_path / "text.db").write_text("this is not a database" * 100)
    with pytest.raises(CourseError, match=r"gradebook sqlite:///.*text\.db cannot be used: file is not a"):
        check_gradebook(term_class.folder, [f"--db=sqlite:///{tmp_path}/text.db"])
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "psycopg", raising=False)
    with pytest.raises(CourseError, match=r"\*\*\*@host.*for PostgreSQL: psycopg") as problem:
        check_gradebook(term_class.folder, ["--db=postgresql://me:secret@host/book"])
    assert "secret" not in str(problem.value)


def test_a_gradebook_of_another_version_is_not_used(term_class):
    import sqlite3

    path = term_class.folder.root / "old.db"
    shutil.copy(term_class.folder.root / "gradebook.db", path)
    with sqlite3.connect(path) as book:
        book.execute("alter table grade drop column extra_credit")
    from grader.nbgrader.gradebook import check_gradebook

    with pytest.raises(CourseError, match="extra_credit.*Another version of nbgrader"):
        check_gradebook(term_class.folder, [f"--db=sqlite:///{path}"])
    path.unlink()


def test_feedback_is_renewed_where_something_changed_and_nowhere_else(term_class):
    from grader.nbgrader.term.renew_feedback import autograded, renew_feedback

    folder = term_class.folder
    pairs = autograded(folder, [FIRST], NAMES)
    assert not renew_feedback(folder, pairs).problems
    assert renew_feedback(folder, pairs).kept == pairs
    page = folder.root / "feedback" / "ben" / FIRST / f"{FIRST}.html"
    assert "Score: 11.2 / 17.0" in page.read_text()
    say(term_class, DUE + '[[extension]]\nassignment = "01"\nstudents = ["ben"]\nweeks = 1\n')
    term_class.autograde()
    assert renew_feedback(folder, pairs).written == [("ben", FIRST)]
    assert "Score: 14.0 / 17.0" in page.read_text()


def test_points_given_by_hand_after_grading_are_penalised_when_feedback_is_written(term_class):
    from grader.nbgrader.term.renew_feedback import renew_feedback

    give(term_class, "cleo", 5)
    assert renew_feedback(term_class.folder, [("cleo", FIRST)]).written == [("cleo", FIRST)]
    page = term_class.folder.root / "feedback" / "cleo" / FIRST / f"{FIRST}.html"
    assert "Score: 6.0 / 17.0" in page.read_text()
