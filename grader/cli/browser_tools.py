"""What `./course test` installs by itself: the driver of this machine's Chromium, for tests/browser.

It is not among the course's requirements, for only those tests use it. Nothing here can fail a test run:
where the driver is missing, the tests are skipped and say so.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

from common.cache import REPOSITORY
from common.chromium import find_chromium

REQUIREMENTS = REPOSITORY / "requirements-browser.txt"
_VENV = REPOSITORY / ".venv"
_MOST_SECONDS = 300


def install_browser_driver() -> str:
    """Install it where it can be of use and is missing. A sentence about what was done; "" for nothing."""
    if importlib.util.find_spec("playwright") or find_chromium() is None or not _in_own_environment():
        return ""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    # Without a network this should be over at once: nothing depends on it.
    command += ["--retries", "0", "--timeout", "10", "-r", str(REQUIREMENTS)]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, check=False, timeout=_MOST_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"could not install {REQUIREMENTS.name} ({problem}): the tests in a browser are skipped"
    if done.returncode:
        return f"could not install {REQUIREMENTS.name}: the tests in a browser are skipped"
    importlib.invalidate_caches()
    return f"installed {REQUIREMENTS.name} for the tests in a browser"


def _in_own_environment() -> bool:
    """Whether this is the environment that `./course` made: in anybody else's nothing is installed."""
    return Path(sys.prefix).resolve() == _VENV.resolve()
