"""What `./course test` installs only where it is of use: a driver of this machine's Chromium (tests/browser).

Nothing here can fail a test run: where the driver is missing, the tests are skipped and say so.
"""

from __future__ import annotations

from grader.cli.machine.chromium import find_chromium
from grader.course.environment import InstallError, install, is_installed, is_own

_GROUP = "browser"


def install_browser_driver() -> str:
    """Install it where it can be of use and is missing. A sentence about what was done; "" for nothing."""
    if find_chromium() is None or not is_own() or is_installed(_GROUP):
        return ""
    try:
        # Without a network this should be over at once: nothing depends on it.
        install([_GROUP], patient=False)
    except InstallError:
        return "could not install playwright: the tests in a browser are skipped"
    return "installed playwright for the tests in a browser"
