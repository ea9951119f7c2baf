"""`./course test` fetches what drives a browser where it is of use, and goes on without it elsewhere."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from common import chromium
from grader.cli import browser_tools

DRIVER = "playwright"


class Machine:
    """Chromium, the course's own environment, no driver; `pip` answers with `status`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        self.asked: list[list[str]] = []
        self.status: int | Exception = 0
        self.has_driver(False)
        patch.setattr(browser_tools, "find_chromium", lambda: "/usr/bin/chromium")
        patch.setattr(browser_tools, "_VENV", Path(sys.prefix))
        patch.setattr(subprocess, "run", self._run)

    def has_driver(self, there: bool) -> None:
        found = importlib.util.spec_from_loader(DRIVER, None) if there else None
        self.patch.setattr(importlib.util, "find_spec", lambda name: found)

    def _run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(command)
        if isinstance(self.status, Exception):
            raise self.status
        return subprocess.CompletedProcess(command, self.status)


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def test_the_driver_is_installed_where_there_is_a_chromium(machine):
    assert "installed" in browser_tools.install_browser_driver()
    assert machine.asked[0][-1] == str(browser_tools.REQUIREMENTS)


@pytest.mark.parametrize("lack", ["no chromium", "somebody else's environment", "driver is there"])
def test_nothing_is_installed_where_it_is_of_no_use(machine, lack, tmp_path):
    if lack == "no chromium":
        machine.patch.setattr(browser_tools, "find_chromium", lambda: None)
    elif lack == "driver is there":
        machine.has_driver(True)
    else:
        machine.patch.setattr(browser_tools, "_VENV", tmp_path)
    assert browser_tools.install_browser_driver() == ""
    assert machine.asked == []


@pytest.mark.parametrize("status", [1, subprocess.TimeoutExpired("pip", 300), OSError("no pip")])
def test_an_index_out_of_reach_leaves_a_sentence_and_no_failure(machine, status):
    machine.status = status
    assert "are skipped" in browser_tools.install_browser_driver()


def test_what_is_missing_is_named_with_the_way_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CHROMIUM", str(tmp_path / "none"))
    assert "apt install chromium" in str(chromium.missing_for_a_browser())
    monkeypatch.setenv("COURSE_CHROMIUM", sys.executable)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "requirements-browser.txt" in str(chromium.missing_for_a_browser())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert chromium.missing_for_a_browser() is None
