"""A whole term: release, eight students, an extension, a newer submission, a moved due date, a mended grader,
feedback that follows, and the table at its end."""

from __future__ import annotations

import csv
import datetime
import shutil
from pathlib import Path

import pytest

from grader.nbgrader.apps import must_succeed, nbgrader_functions, run_nbgrader
from grader.nbgrader.class_grading import autograde, handed_in
from grader.nbgrader.exchange import fetch, submit
from grader.nbgrader.kernels import class_run
from grader.nbgrader.term.forecast import forecast
from grader.nbgrader.term.renew_feedback import autograded, renew_feedback
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.stand_in import GRADER, MENDED
from tests.nbgrader.tiny_notebook import QUESTION

NAMES = ("ada", "ben", "cleo", "dan", "eva", "fay", "gus", "hal")
DUE = datetime.datetime(2020, 1, 10, 12, tzinfo=datetime.UTC)  # long ago: a newer submission is newer
DAY = datetime.timedelta(days=1)
LATE = {"ben": 1.5 * DAY, "cleo": 1.5 * DAY, "dan": 0.5 * DAY}  # after the due date
WRONG = ("eva", "fay")  # their kernels, which earn 3 of 10 points


class Term:
    def __init__(self, small_class, homes: Path) -> None:
        self.folder, self._homes, self.grader = small_class.folder, homes, GRADER
        self._when: dict[str, datetime.datetime] = {}

    def hand_in(self, name: str, kernel: str, when: datetime.datetime) -> None:
        with nbgrader_functions(self.folder) as functions:
            place = self._homes / name / FIRST
            if not place.exists():
                fetch(functions, name, FIRST, self._homes / name)
            (place / "kernel.cu").write_text(kernel)
            submit(functions, name, FIRST, self._homes / name)
            must_succeed("collecting", functions.collect(FIRST, update=True))
        self._when[name] = when
        for one, stamped in self._when.items():  # collect takes all again: the exchange has today's dates
            stamp = self.folder.handed_in(one, FIRST) / "timestamp.txt"
            stamp.chmod(0o644)
            stamp.write_text(f"{stamped:%Y-%m-%d %H:%M:%S} UTC")

    def say(self, text: str) -> None:
        self.folder.term.write_text(text)

    def expected(self) -> dict[str, tuple[float | None, str]]:
        run = class_run(self.folder, device="virtual", grader=self.grader)
        found = forecast(self.folder, run, handed_in(self.folder, [FIRST]))
        return {one.student: (one.then, one.why) for one in found.submissions if one.why}

    def autograde(self) -> dict[str, float]:
        run = class_run(self.folder, device="virtual", jobs=2, grader=self.grader)
        graded = autograde(self.folder, run, handed_in(self.folder, [FIRST]))
        assert [one.problem for one in graded if one.problem] == []
        return {one.student: one.points for one in graded}

    def renewed(self) -> list[str]:
        done = renew_feedback(self.folder, autograded(self.folder, [FIRST]))
        assert not done.problems
        return [student for student, _ in done.written]

    def page(self, name: str) -> str:
        return (self.folder.root / "feedback" / name / FIRST / f"{FIRST}.html").read_text()


def due(when: datetime.datetime) -> str:
    return f"[due]\n01 = {when.isoformat()}\n"


@pytest.fixture(scope="module")
def term(small_class, tmp_path_factory) -> Term:
    config = small_class.folder.root / "nbgrader_config.py"
    config.write_text(config.read_text().replace("# c.LatePerDay.percent", "c.LatePerDay.percent"))
    with nbgrader_functions(small_class.folder) as functions:
        must_succeed("release", functions.release_assignment(FIRST))
    return Term(small_class, tmp_path_factory.mktemp("homes"))


def test_a_term(term: Term, tmp_path: Path) -> None:
    # Eight students hand in; three of them late, ten percent per day begun.
    term.say(due(DUE))
    for name in NAMES:
        kernel = f"// wrong, as {name}\n" if name in WRONG else "// fine\n"
        term.hand_in(name, kernel, DUE + LATE.get(name, -DAY))
    assert set(term.expected()) == set(NAMES)
    points = term.autograde()
    assert points == dict.fromkeys(NAMES, 10.0) | {"ben": 8, "cleo": 8, "dan": 9, "eva": 3, "fay": 3}
    assert term.expected() == {}
    assert term.renewed() == list(NAMES)
    assert term.renewed() == []

    # Somebody reads Ada's and Ben's answers.
    with nbgrader_functions(term.folder) as functions, functions.gradebook as book:
        for name in ("ada", "ben"):
            grade = book.find_grade(QUESTION, FIRST, FIRST, name)
            grade.manual_score, grade.needs_manual_grade = 5, False
        book.db.commit()
    assert term.renewed() == ["ada", "ben"]
    assert "Score: 12.0 / 17.0" in term.page("ben"), "the penalty is of all points"

    # An extension for Ben.
    extension = '[[extension]]\nassignment = "01"\nstudents = ["ben"]\ndays = 2\n'
    term.say(due(DUE) + extension)
    assert term.expected() == {"ben": (15.0, "the due date, an extension or the penalty changed")}
    points |= {"ada": 15, "ben": 15}
    assert term.autograde() == points
    assert term.renewed() == ["ben"]

    # Eva hands in again, in time.
    term.hand_in("eva", "// fine now\n", DUE - DAY)
    assert term.expected() == {"eva": (None, "a newer submission")}
    points |= {"eva": 10}
    assert term.autograde() == points
    assert term.renewed() == ["eva"]

    # The due date moves by a day.
    term.say(due(DUE + DAY) + extension)
    assert {name: then for name, (then, _) in term.expected().items() if then != points[name]} == {
        "cleo": 9,
        "dan": 10,
    }
    points |= {"cleo": 9, "dan": 10}
    assert term.autograde() == points
    assert {"cleo", "dan"} <= set(term.renewed())
    assert "Score: 10.0 / 17.0" in term.page("dan")

    # A mistake in the grader is mended: all are graded again, and Fay gains.
    term.grader = MENDED
    assert {why for _, why in term.expected().values()} == {"the grader changed"}
    points |= {"fay": 10}
    assert term.autograde() == points
    assert "fay" in term.renewed()
    assert "Score: 10.0 / 17.0" in term.page("fay")

    # The gradebook is lost; the class folder has what it held.
    shutil.move(term.folder.root / "gradebook.db", tmp_path / "lost.db")
    assert term.autograde() == points

    # The table.
    table = tmp_path / "grades.csv"
    assert run_nbgrader(term.folder, ["export", f"--to={table}"]) == 0
    with table.open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["raw_score"]) for name, row in rows.items()} == points | {"cleo": 10}
    assert float(rows["cleo"]["late_submission_penalty"]) == 1
