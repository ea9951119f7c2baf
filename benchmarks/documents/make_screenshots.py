"""Makes the pictures of docs/images with this machine's Chromium, from real runs on the virtual GPU.

    python -m benchmarks.documents.make_screenshots           all of them; some minutes
    python -m benchmarks.documents.make_screenshots finding   one, by its name

finding   the deliberate race of 00_start, at its two lines, and the cost of every line
profile   what limits exercise 01's baseline, in its notebook
grading   formgrader's page of one submission: points with their reasons, an answer to grade
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.browser.jupyter import JupyterServer, running_jupyter
from benchmarks.browser.pages import new_page, open_notebook, run_all_cells, running_chromium
from benchmarks.output.options import described_parser
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli.machine.chromium import missing_for_a_browser
from grader.nbgrader.class_folder import ClassFolder, put_working_copy
from grader.spec import registry

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

IMAGES = REPOSITORY / "docs" / "images"
EXERCISE = "01_kv_store"
STUDENT = "ben"


def finding(browser: Browser, folder: Path) -> None:
    with _notebook(browser, folder, "00_start", height=1240) as (page, notebook):
        _to_the_top(page, notebook.get_by_text("race", exact=True).first)
        page.screenshot(path=IMAGES / "finding.png")


def profile(browser: Browser, folder: Path) -> None:
    with _notebook(browser, folder, EXERCISE, height=1440) as (page, notebook):
        _to_the_top(page, notebook.locator(".jp-CodeCell").filter(has_text="lab.profile(of=").first)
        page.screenshot(path=IMAGES / "profile.png")


def grading(browser: Browser, folder: Path) -> None:
    from grader.nbgrader.apps import nbgrader_functions

    with _formgrader(browser, folder, height=1330) as (page, server):
        with nbgrader_functions(ClassFolder(server.root)) as functions, functions.gradebook as gradebook:
            submission = gradebook.find_submission_notebook(EXERCISE, EXERCISE, STUDENT).id
        page.goto(server.address(f"formgrader/submissions/{submission}"))
        _to_the_top(page, page.locator("#part-mechanism"), above=80)
        page.screenshot(path=IMAGES / "grading.png")


PICTURES: dict[str, Callable[[Browser, Path], None]] = {
    made.__name__: made for made in (finding, profile, grading)
}


@contextlib.contextmanager
def _notebook(browser: Browser, folder: Path, name: str, height: int) -> Iterator[tuple[Page, Locator]]:
    """The notebook after running all cells, with the unchanged starter and without the file browser."""
    home = folder / name
    put_working_copy(name, home / name, replace=True)
    with running_jupyter(home, own=home) as server, new_page(browser, height=height) as page:
        notebook = open_notebook(page, server.notebook(f"{name}/{name}.ipynb"))
        page.keyboard.press("Control+b")
        run_all_cells(page)
        yield page, notebook


@contextlib.contextmanager
def _formgrader(browser: Browser, folder: Path, height: int) -> Iterator[tuple[Page, JupyterServer]]:
    """Formgrader on a pretend class, signed in."""
    from grader.nbgrader.demo import make_demo_class

    root, own = folder / "class", folder / "instructor"
    make_demo_class(root, registry.find(EXERCISE), device="virtual", notify=lambda text: None)
    own.mkdir()
    with running_jupyter(root, own=own) as server, new_page(browser, height=height) as page:
        page.goto(server.address("formgrader"))
        page.get_by_text("Manage Assignments").first.wait_for()
        yield page, server


def _to_the_top(page: Page, place: Locator, above: int = 0) -> None:
    """Scroll until it is just below the toolbars."""
    place.wait_for()
    place.evaluate(
        "(one, above) => { one.style.scrollMarginTop = `${above}px`; one.scrollIntoView() }", above
    )
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if lack := missing_for_a_browser():
        raise CourseError(lack)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        for name in names:
            PICTURES[name](browser, Path(folder))
            size = (IMAGES / f"{name}.png").stat().st_size
            print(f"{name}.png  {size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
