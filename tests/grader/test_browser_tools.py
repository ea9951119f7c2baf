"""`./course test` installs the browser driver where there is a Chromium, and continues without it
elsewhere."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from grader.cli.machine import browser_tools, chromium
from grader.course.environment import InstallError


class Machine:
    """Chromium, the course's own environment, no driver."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        self.asked: list[list[str]] = []
        self.fails = False
        patch.setattr(browser_tools, "find_chromium", lambda: "/usr/bin/chromium")
        patch.setattr(browser_tools, "is_own", lambda: True)
        patch.setattr(browser_tools, "is_installed", lambda group: False)
        patch.setattr(browser_tools, "install", self._install)

    def _install(self, groups: list[str], *, retries: bool) -> None:
        assert not retries, "without a network it should be over at once"
        self.asked.append(groups)
        if self.fails:
            raise InstallError("pip could not install it")


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def test_the_driver_is_installed_where_there_is_a_chromium(machine):
    assert "installed" in browser_tools.install_browser_driver()
    assert machine.asked == [["browser"]]


@pytest.mark.parametrize(
    ("name", "answer"), [("find_chromium", None), ("is_own", False), ("is_installed", True)]
)
def test_nothing_is_installed_where_it_is_of_no_use(machine, name, answer):
    machine.patch.setattr(browser_tools, name, lambda *_: answer)
    assert browser_tools.install_browser_driver() == ""
    assert machine.asked == []


def test_an_index_out_of_reach_leaves_a_sentence_and_no_failure(machine):
    machine.fails = True
    assert "are skipped" in browser_tools.install_browser_driver()


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CHROMIUM", str(tmp_path / "none"))
    assert "apt install chromium" in str(chromium.missing_for_a_browser())
    monkeypatch.setenv("COURSE_CHROMIUM", sys.executable)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "requirements/browser.txt" in str(chromium.missing_for_a_browser())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert chromium.missing_for_a_browser() is None
