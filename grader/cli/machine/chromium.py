"""This machine's Chromium and its driver, for the tests in a browser and for screenshots."""

from __future__ import annotations

import importlib.util
import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_CHOSEN = "COURSE_CHROMIUM"


def find_chromium() -> str | None:
    """The path that COURSE_CHROMIUM names, else the first Chromium or Chrome on PATH."""
    if chosen := os.environ.get(_CHOSEN):
        return shutil.which(chosen)
    return next(filter(None, map(shutil.which, _NAMES)), None)


def missing_for_a_browser() -> str | None:
    """A sentence on what this machine lacks for tests in a browser and how to get it; None if it has all."""
    if find_chromium() is None:
        return (
            "there is no Chromium on this machine (Debian: apt install chromium; elsewhere set "
            f"{_CHOSEN} to Chromium or Chrome)"
        )
    if importlib.util.find_spec("playwright") is None:
        return (
            "playwright, which drives Chromium, is not installed (pip install -r requirements/browser.txt; "
            "`./course test` does so by itself where the package index can be reached)"
        )
    return None
