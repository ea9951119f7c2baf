"""pip, with one line of progress in the place of its hundreds. What it printed is kept in a log.

Only the standard library is imported here and in what is imported: nothing else is installed yet.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from common.core.errors import CourseError
from common.core.progress import Progress

_PIP = (sys.executable, "-m", "pip")
_PACKAGE = re.compile(r"^(?:Collecting|Processing|Requirement already satisfied:) (\S+)")
_DOWNLOAD = re.compile(r"^ +Downloading (\S+) \(([\d.]+ [kMG]B)\)")
_UNPACKING = "Installing collected packages"
_COMPLAINT = re.compile(r"^ *(ERROR|error|WARNING: Retrying)", re.MULTILINE)
_LAST_LINES = 20
_SECOND = 1.0


class InstallError(CourseError):
    """pip could not install something."""


def log_path() -> Path:
    return Path(sys.prefix) / "install.log"


def pip_install(arguments: Sequence[str], what: str, *, packages: int, unless: str = "") -> bool:
    """Run `pip install`. Returns whether it failed with the message `unless`; any other failure raises, with
    what pip said. `packages` is how many it is going to look at."""
    command = [*_PIP, "install", "--disable-pip-version-check", "--no-deps", *arguments]
    # .venv is the course's own, root's or not.
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PYTHONUNBUFFERED": "1"}
    try:
        with (
            log_path().open("a", encoding="utf-8", errors="replace") as log,
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            said = _follow(process.stdout, log, packages)
    except OSError as problem:
        raise InstallError(f"pip could not {what}: {problem}") from problem
    if process.returncode == 0:
        return False
    if unless and unless in said:
        return True
    raise InstallError(
        f"pip could not {what}. It said:\n{_decisive(said)}\n"
        f"All that it said is in {log_path()}. Fix that and repeat the command. "
        "Without a network, set COURSE_PYTHON to an interpreter that has torch, numpy and ninja."
    )


def _follow(output: IO[str], log: IO[str], packages: int) -> str:
    """Copy pip's lines into the log until it ends; the seconds pass on the screen while none comes."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_hand_on, args=(output, lines), daemon=True).start()
    progress, seen, state, said = Progress("pip"), 0, "starting", []
    while True:
        try:
            line = lines.get(timeout=_SECOND)
        except queue.Empty:
            line = None
        if line == "":
            break
        if line is not None:
            log.write(line)
            said.append(line)
            seen += _PACKAGE.match(line) is not None
            state = _state(line, min(seen, packages), packages) or state
        progress.update(state)
    progress.finish("ended")
    return "".join(said)


def _hand_on(output: IO[str], lines: queue.SimpleQueue[str]) -> None:
    for line in output:
        lines.put(line)
    lines.put("")  # no line is empty: each has its end


def _state(line: str, seen: int, packages: int) -> str:
    """What pip does from this line on; "" where that does not change."""
    if found := _DOWNLOAD.match(line):
        name = found[1].rpartition("/")[2].split("-")[0]
        return f"package {seen} of {packages}, downloading {name} ({found[2]})"
    if _PACKAGE.match(line):
        return f"package {seen} of {packages}"
    return "unpacking" if line.startswith(_UNPACKING) else ""


def _decisive(said: str) -> str:
    """From pip's first complaint on; without any, its last lines."""
    first = _COMPLAINT.search(said)
    return said[first.start() :].rstrip() if first else "\n".join(said.splitlines()[-_LAST_LINES:])
