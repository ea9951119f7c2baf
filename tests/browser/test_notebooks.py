"""Every notebook in JupyterLab, run from its first cell to its last with the untouched starter.

Two are run by default, for a browser takes its time; COURSE_BROWSER=all runs every notebook.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks.browser.jupyter import JupyterServer, running_jupyter
from benchmarks.browser.pages import TROUBLE, open_notebook, run_all_cells
from grader.nbgrader.class_folder import put_working_copy
from tests.notebooks.sources import all_notebooks

BY_DEFAULT = ("00_start", "01_kv_store")
LEFT_OUT = pytest.mark.skipif(
    os.environ.get("COURSE_BROWSER") != "all", reason="takes a minute: COURSE_BROWSER=all runs it too"
)
CHOSEN = [
    pytest.param(path.stem, id=path.stem, marks=[] if path.stem in BY_DEFAULT else [LEFT_OUT])
    for path in all_notebooks()
]


@pytest.fixture(scope="module")
def jupyter(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with running_jupyter(
        tmp_path_factory.mktemp("notebooks"), own=tmp_path_factory.mktemp("jupyter")
    ) as server:
        yield server


@pytest.mark.parametrize("name", CHOSEN)
def test_a_notebook_runs_with_the_starter_and_shows_its_figures_and_tables(name, jupyter, page):
    put_working_copy(name, jupyter.root / name, replace=False)
    notebook = open_notebook(page, jupyter.notebook(f"{name}/{name}.ipynb"))
    run_all_cells(page)

    assert notebook.locator(TROUBLE).all_inner_texts() == []
    assert page.evaluate(PICTURES), "there is no picture"
    assert all(width > 0 for width in page.evaluate(PICTURES)), "a picture could not be drawn"
    assert notebook.locator(".course-lab table:visible").count() > 0
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(HIDDEN_COSTS) == 0, "lines of a cost table are cut off at the edge"
    assert page.evaluate(PANELS) == [], "a picture has a background of its own, whatever the theme"
    assert page.locator(".Toastify__toast").count() == 0, "a first start asks whether to fetch news"


PICTURES = "() => [...document.querySelectorAll('.jp-OutputArea img')].map(image => image.naturalWidth)"

HIDDEN_COSTS = """() => [...document.querySelectorAll('.course-lab .wide:has(.source)')].filter(
    one => one.scrollWidth > one.clientWidth + 2).length"""
PANELS = """() => [...document.querySelectorAll('.jp-OutputArea img')].map(
    image => getComputedStyle(image).backgroundColor).filter(colour => colour !== 'rgba(0, 0, 0, 0)')"""

# Tables and pictures that reach beyond the right edge of their output where nobody can scroll to them.
CUT_OFF = """() => [...document.querySelectorAll('.course-lab table, .jp-OutputArea img')].filter(one => {
    const output = one.closest('.jp-OutputArea-output');
    const scrolls = one.closest('.wide, pre, details:not([open])');
    return !scrolls && one.getBoundingClientRect().right > output.getBoundingClientRect().right + 2;
}).map(one => one.innerText || one.outerHTML.slice(0, 80))"""
