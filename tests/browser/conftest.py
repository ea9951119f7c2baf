"""A browser and a page for tests; where there is none, the tests are skipped with what is missing.

Fixtures are a module's at most: while Playwright runs, no other test of this process can run an event loop.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.browser.pages import new_page, running_chromium
from grader.cli.machine.chromium import missing_for_a_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if lack := missing_for_a_browser():
        pytest.skip(lack)
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with new_page(browser) as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """A failed test says where the picture is of what its page looked like."""
    report = yield
    if report.when == "call" and report.failed and "page" in getattr(item, "funcargs", {}):
        picture = item.config.rootpath / ".pytest_cache" / "browser" / f"{item.name}.png"
        try:
            item.funcargs["page"].screenshot(path=str(picture), timeout=10_000)  # type: ignore[attr-defined]
            report.sections.append(("the page", f"looked like {picture}"))
        except Exception as problem:  # the failure that is reported counts, not this one
            report.sections.append(("the page", f"could not be pictured: {problem}"))
    return report
