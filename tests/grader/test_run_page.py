"""A run leaves lines about itself, whatever ends it, and a page is made of them."""

from __future__ import annotations

from pathlib import Path

from grader.classes.executor import Graded, Task
from grader.classes.run_log import NAME, RunLog, read_runs
from grader.classes.submissions import Submission
from grader.render.pages.run_page import write_run_page
from tests.grader.fake_pipeline import make_record


def graded(student: str, seconds: float, lost: tuple[str, ...] = ()) -> Graded:
    task = Task(Submission(student, "01_first", Path("kernel.cu")), b"", "")
    return Graded(task, make_record(student), "node7", 2.0, seconds, lost)


def test_a_line_is_there_as_soon_as_a_submission_is_graded(tmp_path):
    log = RunLog.begin(tmp_path, 3)
    log.add(graded("alice", 4.0))
    log.add(graded("bob", 8.0, ("worker w1 was lost",)))
    with (tmp_path / NAME).open("a") as file:
        file.write('{"student": "cut')
    [run] = read_runs(tmp_path)
    assert (run.tasks, [row.student for row in run.rows]) == (3, ["alice", "bob"])
    assert run.rows[1].lost == ["worker w1 was lost"]
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0


def test_the_page_shows_times_the_queue_what_was_lost_and_what_was_slow(tmp_path):
    log = RunLog.begin(tmp_path, 3)
    log.add(graded("<b>alice", 4.0))
    log.add(graded("bob", 8.0, ("worker w1 was lost",)))
    page = write_run_page(read_runs(tmp_path), tmp_path / "pages").read_text()
    for words in (
        "2 of 3 submissions graded on 1 machine (node7)",
        "6 s",
        "8 s",
        "12 s",
        "worker w1 was lost",
    ):
        assert words in page
    assert "The run was stopped; the same command goes on." in page
    assert "<b>alice" not in page
    assert page.index("Slowest") < page.rindex("bob") < page.rindex("alice")
