"""nbgrader's settings for this course. nbgrader runs no student code: there is no Execute in its lists, and
TrustedGrade writes every point of an autograded cell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from jinja2 import DictLoader
from nbconvert.exporters import HTMLExporter
from nbgrader import preprocessors as nbgrader

from grader.classes.submissions import KERNEL, PYTHON_KERNEL
from grader.nbgrader.class_folder import ClassFolder, assignments
from grader.nbgrader.feedback import ReleaseToEverybody
from grader.nbgrader.handing_in.collect import CollectPlainFiles
from grader.nbgrader.handing_in.handed_in import look_over_all
from grader.nbgrader.handing_in.restore import RestoreCells
from grader.nbgrader.handing_in.submitted import SubmittedNotebookExporter
from grader.nbgrader.marks.late import LatePerDay
from grader.nbgrader.marks.trusted_grade import TrustedGrade
from grader.nbgrader.showing.beside_answers import BesideAnswers
from grader.nbgrader.showing.markdown import markdown2html
from grader.nbgrader.showing.maths import NO_MATHJAX
from grader.nbgrader.validating import allow_time_for_builds

COURSE_ID = "serving_kernels"


def configure(c: Any, root: Path) -> None:
    """Settings for the class in `root`, which is prepared, too."""
    folder = ClassFolder(root.absolute())
    folder.prepare()
    if "autograde" in sys.argv[1:2]:  # `nbgrader autograde` skips folders without a notebook
        for (student, assignment), problem in look_over_all(folder).items():
            print(f"{student}, {assignment}: {problem}", file=sys.stderr)
    c.CourseDirectory.root = str(folder.root)
    c.CourseDirectory.course_id = COURSE_ID
    c.Exchange.root = str(folder.exchange)
    c.ExchangeFactory.collect = CollectPlainFiles
    c.ExchangeFactory.release_feedback = ReleaseToEverybody
    # The notebooks hold no solutions and no hidden tests, so there is nothing to clear from them.
    c.GenerateAssignment.preprocessors = [
        nbgrader.LockCells,
        nbgrader.ClearOutput,
        nbgrader.CheckCellMetadata,
        nbgrader.ComputeChecksums,
        nbgrader.SaveCells,
        nbgrader.CheckCellMetadata,
    ]
    c.Autograde.exporter_class = SubmittedNotebookExporter
    c.SubmittedNotebookExporter.optimistic_validation = True  # once, after all steps
    c.Autograde.sanitize_preprocessors = [
        RestoreCells,
        nbgrader.OverwriteKernelspec,
        nbgrader.OverwriteCells,
        nbgrader.CheckCellMetadata,
    ]
    c.Autograde.autograde_preprocessors = [
        TrustedGrade,
        nbgrader.SaveAutoGrades,
        nbgrader.AssignLatePenalties,
        nbgrader.CheckCellMetadata,
    ]
    c.Autograde.exclude_overwriting = {name: [KERNEL, PYTHON_KERNEL] for name in assignments()}
    c.HTMLExporter.filters = {"markdown2html": markdown2html}
    c.HTMLExporter.preprocessors = [BesideAnswers]
    HTMLExporter.extra_loaders.tag(config=True)  # else nobody but its constructor can set it
    c.HTMLExporter.extra_loaders = [DictLoader(NO_MATHJAX)]
    c.AssignLatePenalties.plugin_class = LatePerDay
    allow_time_for_builds(c)
