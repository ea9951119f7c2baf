"""In formgrader an answer is shown with its part of the mark scheme and the kernel; in feedback it is not."""

from __future__ import annotations

import re

import nbformat
from nbconvert.exporters import HTMLExporter

from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import NOTEBOOKS, ClassFolder, assignments
from grader.nbgrader.showing.beside_answers import mark_scheme
from grader.spec import registry
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.tiny_notebook import QUESTION

SCHEME = f"# For instructors\n\n## {QUESTION}\n\n- 5: the rare word zyzzyva\n\n## q-other\n\nno\n"
KERNEL = "// fine, and <b>bold</b>\n"


def test_every_answer_of_the_course_has_a_section_in_its_mark_scheme(monkeypatch):
    for assignment in assignments():
        notebook = nbformat.read(NOTEBOOKS / assignment / f"{assignment}.ipynb", as_version=4)
        about = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
        by_hand = {one["grade_id"] for one in about if one.get("grade") and one.get("solution")}
        assert by_hand <= set(mark_scheme(assignment)), assignment


def page_for_graders(folder: ClassFolder, student: str) -> str:
    """As formgrader makes it."""
    path = folder.autograded / student / FIRST / f"{FIRST}.ipynb"
    shown = {"submission_id": "1", "assignment_id": FIRST, "student": student}
    with nbgrader_functions(folder) as functions:
        page, _ = HTMLExporter(config=functions.config).from_filename(str(path), resources=shown)
    return str(page)


def test_graders_see_them_and_students_do_not(small_class):
    (registry.SOLUTIONS / FIRST / "mark_scheme.md").write_text(SCHEME)
    small_class.hand_in("ada", small_class.released, KERNEL)
    small_class.autograde()
    page = page_for_graders(small_class.folder, "ada")
    with nbgrader_functions(small_class.folder) as functions:
        must_succeed("feedback", functions.generate_feedback(FIRST, "ada"))
    assert "zyzzyva" in page
    assert "fine, and &lt;b&gt;bold" in page
    feedback = small_class.folder.root / "feedback" / "ada" / FIRST / f"{FIRST}.html"
    assert "zyzzyva" not in feedback.read_text()
    assert "and &lt;b&gt;bold" not in feedback.read_text()


def test_graders_see_what_a_late_submission_loses_of_the_points_that_it_has_now(small_class):
    """Formgrader says nothing of it by itself, and nbgrader has that of the points before somebody read."""
    folder = small_class.folder
    config = folder.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.LatePerDay.percent = 10\n")
    folder.term.write_text("[due]\n01 = 2020-01-10T12:00:00+00:00\n")
    for name, handed_in_at in (("late", "2020-01-11 18:00:00 UTC"), ("in_time", "2020-01-10 11:00:00 UTC")):
        place = small_class.hand_in(name, small_class.released)
        (place / "timestamp.txt").write_text(handed_in_at)
    small_class.autograde()
    assert "of 10 points 2 are taken off, which leaves 8." in page_for_graders(folder, "late")
    with nbgrader_functions(folder) as functions, functions.gradebook as book:
        book.find_grade(QUESTION, FIRST, FIRST, "late").manual_score = 5
        book.db.commit()
    page = page_for_graders(folder, "late")
    assert "by 30 h 0 min: of 15 points 3 are taken off, which leaves 12." in page
    assert page.count("taken off") == 1
    assert "taken off" not in page_for_graders(folder, "in_time")


def test_a_page_of_feedback_loads_nothing_from_another_machine(small_class):
    small_class.hand_in("offline", small_class.released)
    small_class.autograde()
    with nbgrader_functions(small_class.folder) as functions:
        must_succeed("feedback", functions.generate_feedback(FIRST, "offline"))
    page = (small_class.folder.root / "feedback" / "offline" / FIRST / f"{FIRST}.html").read_text()
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"'> ]*""", page)
    assert "MathJax" not in page
