"""What a person does in JupyterLab, as functions on a Playwright page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.cli.machine.chromium import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SECOND = 1000.0
_TIMEOUT = 90 * SECOND  # for whatever a page does by itself, on a busy machine
RUN_TIMEOUT = 600 * SECOND  # for a notebook's cells; a notebook should take three minutes at most
TROUBLE = ", ".join(f'[data-mime-type="application/vnd.jupyter.{kind}"]' for kind in ("error", "stderr"))


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    # Containers run their tests as root, and root cannot set up Chromium's own sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def new_page(browser: Browser, *, width: int = 1280, height: int = 900) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(_TIMEOUT)
    context.set_default_navigation_timeout(_TIMEOUT)
    try:
        yield context.new_page()
    finally:
        context.close()


def wait_for_lab(page: Page) -> None:
    page.locator("#jp-MainMenu").wait_for()
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def open_notebook(page: Page, address: str) -> Locator:
    """Open it and wait until its kernel is idle; returns the notebook's panel."""
    page.goto(address)
    wait_for_lab(page)
    panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    panel.locator(".jp-Spinner").wait_for(state="detached")
    panel.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    return panel


def run_all_cells(page: Page) -> None:
    """Choose Run → Run All Cells and wait for the end."""
    choose(page, "Run", "Run All Cells")
    page.wait_for_function(_ALL_RAN, timeout=RUN_TIMEOUT)


def choose(page: Page, menu: str, item: str) -> None:
    page.locator("#jp-MainMenu .lm-MenuBar-item").filter(has_text=menu).first.click()
    page.locator(".lm-Menu-item").get_by_text(item, exact=True).click()


# Every code cell has its number, or an error stopped the run.
_ALL_RAN = """() => {
    const cells = [...document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell')];
    const prompts = cells.map(cell => cell.querySelector('.jp-InputPrompt').textContent);
    return prompts.every(prompt => /\\[\\d+\\]/.test(prompt))
        || (document.querySelector('[data-mime-type="application/vnd.jupyter.error"]')
            && !prompts.some(prompt => prompt.includes('*')));
}"""
