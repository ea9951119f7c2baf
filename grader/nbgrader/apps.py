"""nbgrader, set up for a class: its command line, and its functions in this process."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.course.jupyter_kernel import jupyter_path
from grader.nbgrader.class_folder import ClassFolder

_LAST_LINES = 6


def is_installed() -> bool:
    return importlib.util.find_spec("nbgrader") is not None


def must_be_installed() -> None:
    if not is_installed():
        raise CourseError(
            "nbgrader is not installed in this Python: `./course` without COURSE_PYTHON installs it, or "
            "`pip install nbgrader`"
        )


def commands() -> set[str]:
    from nbgrader.apps.nbgraderapp import NbGraderApp

    return set(NbGraderApp.subcommands)


def options_of(command: str) -> set[str]:
    """Of one of nbgrader's commands, with their dashes."""
    from nbgrader.apps.nbgraderapp import NbGraderApp

    app, _ = NbGraderApp.subcommands[command]
    names = {*app.aliases, *app.flags}
    return {f"--{name}" if len(name) > 1 else f"-{name}" for name in names}


def run_nbgrader(folder: ClassFolder, arguments: Sequence[str]) -> int:
    """nbgrader's own command line on the class, in the current folder: students fetch and submit there."""
    from nbgrader.apps.nbgraderapp import NbGraderApp
    from traitlets.config import Application

    with _for_class(folder) as root:
        try:
            NbGraderApp.launch_instance(argv=[*arguments, root])
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
        finally:
            # By now it is the subcommand, which the same command would get again with these options.
            if Application.initialized():
                Application.instance().clear_instance()
    return 0


@contextlib.contextmanager
def nbgrader_functions(folder: ClassFolder, arguments: Sequence[str] = (), **settings: str) -> Iterator[Any]:
    """An NbGraderAPI with the settings that nbgrader's commands find: the user's, the class's, `arguments`
    such as --db=URL. `settings` are those of TrustedGrade."""
    from nbgrader.apps import NbGrader, NbGraderAPI
    from nbgrader.auth import Authenticator

    with _for_class(folder) as root:
        app = NbGrader()
        app.log_level = logging.ERROR
        app.initialize([*arguments, root])
        for name, value in settings.items():
            app.config.TrustedGrade[name] = value
        app.log.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            # SQLAlchemy 2 warns about nbgrader's own use of its database.
            warnings.filterwarnings("ignore", message=".*not in session", module="nbgrader.*")
            yield NbGraderAPI(app.coursedir, Authenticator(parent=app), parent=app)


def must_succeed(what: str, result: dict[str, Any] | None) -> None:
    """Raise if it failed: nbgrader's functions return a traceback and a log."""
    if result is None or result["success"]:
        return
    said = f"{result.get('log', '')}\n{result.get('error', '')}".strip().splitlines()
    raise CourseError(f"{what} failed:\n" + "\n".join(f"  {line}" for line in said[-_LAST_LINES:]))


@contextlib.contextmanager
def _for_class(folder: ClassFolder) -> Iterator[str]:
    """Make nbgrader find the class's settings from any folder, its notebooks' kernel, and alembic, which it
    calls. Yields the option that names the class, which overrides settings in the current folder."""
    must_be_installed()
    folder.prepare()
    changed = {
        "COURSE_CLASS": [str(folder.root)],
        "JUPYTER_PATH": [str(jupyter_path()), os.environ.get("JUPYTER_PATH", "")],
        "JUPYTER_CONFIG_PATH": [str(folder.root), os.environ.get("JUPYTER_CONFIG_PATH", "")],
        "PATH": [str(Path(sys.executable).parent), os.environ.get("PATH", "")],
    }
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update({name: os.pathsep.join(filter(None, parts)) for name, parts in changed.items()})
    try:
        yield f"--CourseDirectory.root={folder.root}"
    finally:
        folder.keep_private()  # nbgrader may have made a gradebook
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
