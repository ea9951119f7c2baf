"""nbgrader's Validate button, as a student presses it before handing in."""

from __future__ import annotations

import re

import pytest

from benchmarks.browser.jupyter import running_jupyter
from benchmarks.browser.pages import RUN_TIMEOUT, open_notebook
from grader.nbgrader.validating import SETTINGS
from grader.spec import registry
from tests.nbgrader.tiny_notebook import QUESTION, cell_of, tiny_notebook

EXERCISE = "01"


@pytest.fixture
def jupyter(browser, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with running_jupyter(home, own=tmp_path, JUPYTER_CONFIG_PATH=str(SETTINGS)) as server:
        yield server


def test_validate_names_the_cells_that_the_starter_does_not_pass(jupyter, page):
    import nbformat

    exercise = registry.find(EXERCISE)
    notebook = tiny_notebook(exercise)
    cell_of(notebook, QUESTION).source = "An answer."  # an empty one is named as well
    nbformat.write(notebook, jupyter.root / "try.ipynb")
    (jupyter.root / "kernel.cu").write_text(exercise.starter.read_text())

    open_notebook(page, jupyter.notebook("try.ipynb"))
    page.locator(".validate-button").click()
    dialog = page.locator(".jp-Dialog").filter(has_text=re.compile("fail|Success|Error", re.IGNORECASE))
    dialog.wait_for(timeout=RUN_TIMEOUT)
    said = dialog.inner_text()
    for source in ("lab.compare(predictions)", *(f'lab.part("{name}")' for name in exercise.rubric)):
        assert source in said
    assert "Traceback" not in said
    assert "Timeout" not in said
