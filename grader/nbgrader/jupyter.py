"""Starts JupyterLab for notebooks of the course, and formgrader for a class."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.course.environment import install_course, is_own
from grader.course.jupyter_kernel import jupyter_path
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.validating import SETTINGS


def start_jupyter(arguments: Sequence[str]) -> int:
    """Replace this process by Jupyter, which gets the terminal and Ctrl-C."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise CourseError(
            "JupyterLab is not installed in this Python: `./course` without COURSE_PYTHON installs it, or "
            "`pip install jupyterlab`"
        )
    if is_own():
        install_course()  # again: the clone may have moved, or another clone's kernel may be gone
    # Notebooks ask for the course's kernel and import the grader, wherever their folder is; Validate gives
    # their cells time.
    places = {"JUPYTER_PATH": jupyter_path(), "PYTHONPATH": REPOSITORY, "JUPYTER_CONFIG_PATH": SETTINGS}
    for name, place in places.items():
        os.environ[name] = os.pathsep.join(filter(None, (str(place), os.environ.get(name, ""))))
    # In a container the user is root, which Jupyter would refuse. It listens on this machine only, with a
    # token.
    allowed = ["--allow-root"] if os.geteuid() == 0 and "--allow-root" not in arguments else []
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *arguments, *allowed])


def start_formgrader(folder: ClassFolder, arguments: Sequence[str]) -> int:
    """Jupyter reads the class's nbgrader_config.py from the folder it is started in."""
    folder.prepare()
    os.chdir(folder.root)
    return start_jupyter(["--LabApp.default_url=/formgrader", *arguments])
