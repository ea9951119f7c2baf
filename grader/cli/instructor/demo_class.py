"""`./course demo-class [DIR]`: a small demo class, from release to feedback, in work/demo_class or DIR.

Five students fetch, work and submit: all right, partly right, only the starter, hostile, late and damaged.
Their submissions are collected and graded, feedback is written, and formgrader can be opened on it.
"""

from __future__ import annotations

from pathlib import Path

from common.core.errors import CourseError
from common.core.progress import Progress
from grader.cli import options as shared
from grader.cli.instructor.nbgrader import show_graded
from grader.cli.parser import Parser
from grader.course import student
from grader.records.device_info import VIRTUAL
from grader.spec import registry


def main(arguments: list[str]) -> int:
    parser = Parser("./course demo-class", __doc__)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=student.WORK / "demo_class")
    parser.add_argument("--exercise", metavar="NN", default="01", help="the notebook (default: 01)")
    parser.add_argument("--device", choices=shared.KINDS, default=VIRTUAL, help=f"default: {VIRTUAL}")
    options = parser.parse_args(arguments)
    from grader.nbgrader.apps import must_be_installed

    must_be_installed()
    from grader.nbgrader.demo import DEMO_STUDENTS, feedback_pages, make_demo_class

    exercise = registry.find(options.exercise)
    if not exercise.solution.is_file():
        raise CourseError("a demo class needs the reference solutions, which a student bundle does not have")
    for one in DEMO_STUDENTS:
        print(f"  {one.name:<6}{one.does}")
    progress = Progress("the class")
    graded = make_demo_class(options.folder, exercise, device=options.device, notify=progress.update)
    progress.finish("done")
    show_graded(graded, as_json=False)
    print("Feedback as a student gets it:")
    for page in feedback_pages(options.folder, exercise):
        print(f"  {student.shown(page)}")
    place = student.shown(options.folder)
    print(f"\nLook at it as an instructor: ./course nbgrader --class {place} formgrader")
    print(f"Its gradebook as a table:    ./course nbgrader --class {place} export --to=grades.csv")
    return 0
