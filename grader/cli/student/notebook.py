"""`./course notebook [NN]`: open a notebook in JupyterLab, on your own copy in work/NN_name/.

The copy is made once and is yours from then on. It uses the kernel.cu beside it, as `check` and the other
commands do; where there is none yet, the starter is put there. Without NN, copies of all notebooks are made
and Jupyter shows the folder. What follows NN goes to Jupyter, such as --no-browser or --port=8889.
"""

from __future__ import annotations

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cli.parser import Parser
from grader.course import student
from grader.nbgrader.class_folder import assignments, find_assignment, put_working_copy
from grader.nbgrader.jupyter import start_jupyter


def main(arguments: list[str]) -> int:
    parser = Parser("./course notebook", __doc__)
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
