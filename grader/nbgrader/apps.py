"""nbgrader itself, set up for a class: its command line, and its functions in this process."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import CourseError
from grader.nbgrader.class_folder import ClassFolder

_LAST_LINES = 6


def must_be_installed() -> None:
    try:
        import nbgrader  # noqa: F401
    except ImportError as problem:
        raise CourseError(
            "nbgrader is not installed in this Python: `./course` without COURSE_PYTHON installs it, or "
            "`pip install nbgrader`"
        ) from problem


def run_nbgrader(folder: ClassFolder, arguments: Sequence[str]) -> int:
    """nbgrader's own command line on the class."""
    from nbgrader.apps.nbgraderapp import NbGraderApp

    with _inside(folder):
        try:
            NbGraderApp.launch_instance(argv=list(arguments))
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
        finally:
            NbGraderApp.clear_instance()
    return 0


@contextlib.contextmanager
def nbgrader_functions(folder: ClassFolder, arguments: Sequence[str] = (), **settings: str) -> Iterator[Any]:
    """An NbGraderAPI with the settings that nbgrader's commands find: the user's, the class's, `arguments`
    such as --db=URL. `settings` are those of TrustedGrade."""
    from nbgrader.apps import NbGrader, NbGraderAPI
    from nbgrader.auth import Authenticator

    with _inside(folder):
        app = NbGrader()
        app.log_level = logging.ERROR
        app.initialize(list(arguments))
        for name, value in settings.items():
            app.config.TrustedGrade[name] = value
        app.log.setLevel(logging.ERROR)
        yield NbGraderAPI(app.coursedir, Authenticator(parent=app), parent=app)


def must_succeed(what: str, result: dict[str, Any] | None) -> None:
    """nbgrader's functions answer with a traceback and a log where they fail."""
    if result is None or result["success"]:
        return
    said = f"{result.get('log', '')}\n{result.get('error', '')}".strip().splitlines()
    raise CourseError(f"{what} failed:\n" + "\n".join(f"  {line}" for line in said[-_LAST_LINES:]))


@contextlib.contextmanager
def _inside(folder: ClassFolder) -> Iterator[None]:
    """In the class's folder, whose settings nbgrader reads; with alembic, which it calls, to be found."""
    must_be_installed()
    folder.prepare()
    path = os.environ.get("PATH", "")
    programs = str(Path(sys.executable).parent)
    if programs not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((programs, path))
    with contextlib.chdir(folder.root):
        yield
