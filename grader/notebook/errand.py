"""Work for a notebook done in another process: the notebook's own never loads a student's code.

The process gets its order as a line of JSON and answers in lines of JSON: how far it is, then what it found
or a sentence that says why it could not. It ends when this process closes its end of the pipe, however that
comes about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.cache import REPOSITORY
from common.errors import CourseError
from common.process import kill_session
from grader.render.text import one_line

_MODULE = "grader.notebook.errand_process"
_MOST_ANSWER = 64 << 20


def run_errand(
    name: str, arguments: Mapping[str, Any], folder: Path, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The answer of one errand. Files in its messages are named as seen from `folder`."""
    order = json.dumps({"errand": name, "arguments": dict(arguments)}) + "\n"
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": _python_path()},
            start_new_session=True,  # the notebook's interrupt is for the notebook: it ends this in turn
        )
        try:
            answer = _listen(process, order.encode(), tell)
        finally:
            kill_session(process.pid)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if answer is None:
            raise CourseError(f"the grader stopped before it had an answer{_last_words(said)}")
    if "error" in answer:
        raise CourseError(str(answer["error"]))
    found: dict[str, Any] = answer["answer"]
    return found


def _listen(
    process: subprocess.Popen[bytes], order: bytes, tell: Callable[[str], None]
) -> dict[str, Any] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(order)
        process.stdin.flush()
    except BrokenPipeError:
        return None
    while line := process.stdout.readline(_MOST_ANSWER):
        try:
            message = json.loads(line)
        except ValueError:
            return None  # cut short: it died, or there was more than anybody could look at
        if "tell" not in message:
            return dict(message)
        tell(str(message["tell"]))
    return None


def _python_path() -> str:
    """The course is not installed: it runs from its folder."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(part for part in (str(REPOSITORY), inherited) if part)


def _last_words(said: Any) -> str:
    said.seek(0)
    lines = said.read()[-4096:].decode(errors="replace").strip().splitlines()
    return f": {one_line(lines[-1], 300)}" if lines else ""
