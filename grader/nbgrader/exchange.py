"""A student's side of nbgrader's exchange, for demo students: fetch an assignment, submit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.nbgrader.apps import must_succeed


def fetch(functions: Any, student: str, assignment: str, home: Path) -> Path:
    """Fetch into a student's folder; returns the assignment's folder there."""
    _transfer(functions, "FetchAssignment", student, assignment, home)
    return home / assignment


def submit(functions: Any, student: str, assignment: str, home: Path) -> None:
    _transfer(functions, "Submit", student, assignment, home)


def _transfer(functions: Any, kind: str, student: str, assignment: str, home: Path) -> None:
    from nbgrader.utils import capture_log, temp_attrs

    coursedir = functions.coursedir
    home.mkdir(parents=True, exist_ok=True)
    with temp_attrs(coursedir, assignment_id=assignment, student_id=student):
        app = getattr(functions.exchange, kind)(
            coursedir=coursedir, authenticator=functions.authenticator, parent=functions
        )
        app.assignment_dir = str(home)
        # The cache of submissions is beside the student's files, not in this user's Jupyter folder.
        app.cache = str(home / ".nbgrader_cache")
        must_succeed(f"{kind} of {assignment} by {student}", capture_log(app))
