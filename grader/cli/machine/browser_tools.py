"""Installs a driver of this machine's Chromium for `./course test` (tests/browser), if there is a Chromium.

Nothing here can fail a test run: without the driver, the tests are skipped with a message.
"""

from __future__ import annotations

from grader.cli.machine.chromium import find_chromium
from grader.course.environment import InstallError, install, is_installed, is_own

_GROUP = "browser"


def install_browser_driver() -> str:
    """Install it if it is missing and there is a Chromium. Returns a sentence about what was done, or ""."""
    if find_chromium() is None or not is_own() or is_installed(_GROUP):
        return ""
    try:
        # Without a network this should fail at once: nothing depends on it.
        install([_GROUP], retries=False)
    except InstallError:
        return "could not install playwright: the tests in a browser are skipped"
    return "installed playwright for the tests in a browser"
