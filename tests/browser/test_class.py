"""A class in the browser: students fetch and submit in JupyterLab, the instructor grades in formgrader."""

from __future__ import annotations

import pytest

from benchmarks.browser.jupyter import running_jupyter
from benchmarks.browser.pages import choose, wait_for_lab
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from tests.nbgrader.conftest import SmallClass, small_class  # noqa: F401
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.tiny_notebook import QUESTION, cell_of

COMMENT = "Say how many trips, and how long each."


@pytest.fixture(scope="module")
def graded(browser, small_class) -> SmallClass:  # noqa: F811
    """One submission that is right and one that is wrong, both with an answer to read."""
    for name, kernel in (("ada", "// fine"), ("ben", "// wrong")):
        notebook = small_class.released
        cell_of(notebook, QUESTION).source = f"{name} thinks that trips overlap."
        small_class.hand_in(name, notebook, kernel)
    small_class.autograde()
    with nbgrader_functions(small_class.folder) as functions:
        must_succeed("release", functions.release_assignment(FIRST))
    return small_class


@pytest.fixture(scope="module")
def instructor(graded, tmp_path_factory):
    with running_jupyter(graded.folder.root, own=tmp_path_factory.mktemp("instructor")) as server:
        yield server


@pytest.fixture
def formgrader(instructor, page):
    """Signed in: from here on the browser has its cookie."""
    page.goto(instructor.address("formgrader"))
    page.get_by_text("Manage Assignments").first.wait_for()
    return page


def test_formgrader_lists_who_handed_in_with_their_points(formgrader, instructor, graded):
    formgrader.goto(instructor.address(f"formgrader/manage_submissions/{FIRST}"))
    for name, one in graded.autograde().items():
        row = formgrader.get_by_role("row").filter(has_text=name)
        row.wait_for()
        assert f"{one.points:g} / {one.most:g}" in row.inner_text()
        assert "needs manual grading" in row.inner_text()


def test_an_answer_is_read_and_graded_and_comes_back_as_feedback(formgrader, instructor, graded):
    """The view for grading by hand shows points with their reasons, and keeps what is typed there."""
    with nbgrader_functions(graded.folder) as functions, functions.gradebook as gradebook:
        submission = gradebook.find_submission_notebook(FIRST, FIRST, "ben").id
    formgrader.goto(instructor.address(f"formgrader/submissions/{submission}"))
    formgrader.get_by_text("ben thinks that trips overlap.").wait_for()
    assert formgrader.get_by_text("Predictions: 0/2 points").is_visible()

    for place, typed, kept in ((f"#{QUESTION}", "3", "grade"), (f"#{QUESTION}-comment", COMMENT, "comment")):
        formgrader.locator(place).fill(typed)
        with formgrader.expect_response(lambda response, kept=kept: f"/api/{kept}/" in response.url):
            formgrader.locator(place).blur()

    with nbgrader_functions(graded.folder) as functions:
        must_succeed("feedback", functions.generate_feedback(FIRST, "ben"))
    formgrader.goto(instructor.address(f"files/feedback/ben/{FIRST}/{FIRST}.html"))
    formgrader.get_by_text(COMMENT).wait_for()
    assert formgrader.get_by_text("Score: 3.0 / 5.0").first.is_visible()
    assert formgrader.get_by_text("Predictions: 0/2 points").is_visible()


def test_a_student_fetches_and_submits_from_the_assignment_list(graded, page, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with running_jupyter(home, own=tmp_path, JUPYTER_CONFIG_PATH=str(graded.folder.root)) as server:
        page.goto(server.address("lab?reset"))
        wait_for_lab(page)
        choose(page, "Nbgrader", "Assignment List")
        page.get_by_text("Fetch", exact=True).click()
        submit = page.get_by_text("Submit", exact=True)
        submit.wait_for()
        assert sorted(path.name for path in (home / FIRST).iterdir()) == [f"{FIRST}.ipynb", "kernel.cu"]

        (home / FIRST / "kernel.cu").write_text("// mine")
        submit.click()
        page.get_by_text("There are no submitted assignments.").wait_for(state="hidden")
    [submitted] = graded.folder.exchange.glob(f"*/inbound/*+{FIRST}+*/kernel.cu")
    assert submitted.read_text() == "// mine"
