"""`./course notebook [NN]`: open a notebook in JupyterLab, on your own copy below work/notebooks/.

The copy is made once, with the exercise's starter as kernel.cu beside it, and is yours from then on. Without
NN, copies of all notebooks are made and Jupyter shows the folder. What follows NN goes to Jupyter, such as
--no-browser or --port=8889.
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
    folder = student.WORK / "notebooks"
    for assignment in chosen:
        _copy(assignment)
    if options.only_copy:
        return 0
    opened = folder / chosen[0] / f"{chosen[0]}.ipynb" if options.notebook else folder
    return start_jupyter([str(opened), *for_jupyter])


def _copy(assignment: str) -> None:
    place = student.notebook_folder(assignment)
    try:
        made = put_working_copy(assignment, place, replace=False)
    except OSError as problem:
        raise CourseError(f"{place} cannot be filled: {problem.strerror} ({problem.filename})") from problem
    for path in made:
        print(f"made  {student.shown(path)}", flush=True)
