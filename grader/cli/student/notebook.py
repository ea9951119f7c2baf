"""`./course notebook [NN]`: open a notebook in JupyterLab, on your own copy in work/NN_name/.

The copy is made once and is yours from then on. It uses the kernel.cu beside it, as `check` and the other
commands do; where there is none yet, the starter is put there. Without NN, copies of all notebooks are made
and Jupyter shows the folder. What follows NN goes to Jupyter, such as --no-browser or --port=8889.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli.parser import Parser
from grader.course import student
from grader.course.environment import install_course, is_own
from grader.course.jupyter_kernel import jupyter_path
from grader.nbgrader.class_folder import assignments, find_assignment, put_working_copy
from grader.nbgrader.validating import SETTINGS


def main(arguments: list[str]) -> int:
    parser = Parser(
        prog="./course notebook", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebook", metavar="NN", nargs="?", help="01, kv_store, …")
    parser.add_argument("--only-copy", action="store_true", help="make the copy, do not start Jupyter")
    options, for_jupyter = parser.parse_known_args(arguments)
    chosen = [find_assignment(options.notebook)] if options.notebook else assignments()
    if not chosen:
        raise CourseError(f"there is no notebook in {REPOSITORY / 'notebooks'}")
    for assignment in chosen:
        _copy(assignment)
    if options.only_copy:
        return 0
    opened = student.work_folder(chosen[0]) / f"{chosen[0]}.ipynb" if options.notebook else student.WORK
    return start_jupyter([str(opened), *for_jupyter])


def _copy(assignment: str) -> None:
    place = student.work_folder(assignment)
    try:
        made = put_working_copy(assignment, place, replace=False)
    except OSError as problem:
        raise CourseError(f"{place} cannot be filled: {problem.strerror} ({problem.filename})") from problem
    for path in made:
        print(f"made  {student.shown(path)}", flush=True)


def start_jupyter(arguments: list[str]) -> int:
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
