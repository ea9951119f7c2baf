"""Refuses and writes down every compiler and engine that a Python process starts, while the file that
COURSE_STARTED names is there. A process may outlive its test, and serve one that has the marker.

tests/needs.py has this folder on PYTHONPATH, so that the processes that a test starts are seen too. Those of
`python -I` stay unseen, such as the one that runs compilers behind walls, and those without its environment.
"""

from __future__ import annotations

import os
import sys
from typing import Any

VARIABLE = "COURSE_STARTED"
NEED_OF = {
    "vgpu-engine": "engine",
    **dict.fromkeys(("ninja", "nvcc", "ptxas", "g++", "c++"), "compiler"),
}
_QUESTIONS = ("--version", "-dumpversion", "--dryrun", "-dryrun", "-E", "-###")  # which compile nothing
_EVENTS = ("subprocess.Popen", "os.posix_spawn", "os.exec")


def refuse_what_starts(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook."""
    if event not in _EVENTS or not os.path.exists(place := os.environ.get(VARIABLE, "")):
        return
    command = [
        os.fsdecode(word) for word in arguments[1] or () if isinstance(word, str | bytes | os.PathLike)
    ]
    name = os.path.basename(os.fsdecode(arguments[0]) if arguments[0] else (command or [""])[0])
    if name in NEED_OF and not set(_QUESTIONS) & set(command):
        with open(place, "a") as file:
            file.write(f"{NEED_OF[name]} {name}\n")
        raise RuntimeError(
            f"{name} is not started: the test that asks for it has no marker {NEED_OF[name]!r}"
        )


sys.addaudithook(refuse_what_starts)
