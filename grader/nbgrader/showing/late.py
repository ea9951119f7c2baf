"""What a late submission loses, for the top of its page in formgrader, which does not say it by itself."""

from __future__ import annotations

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Configurable

from grader.nbgrader.term.apply import penalty_of, score_of
from grader.words import numbers


def late_penalty(settings: Configurable, student: str, assignment: str) -> str:
    """A sentence, from the points that the gradebook has now; nothing for a submission in time."""
    course = CourseDirectory(parent=settings)
    with Gradebook(course.db_url, course.course_id) as book:
        try:
            found = book.find_submission(assignment, student)
        except MissingEntry:
            return ""
        seconds = found.total_seconds_late
        if seconds <= 0:
            return ""
        scores = [score_of(notebook.grades) for notebook in found.notebooks]
        taken = sum(penalty_of(settings, student, score, seconds) or 0.0 for score in scores)
        return (
            f"**Late** by {numbers.duration(seconds)}: of {numbers.points(sum(scores))} points "
            f"{numbers.points(taken)} are taken off, which leaves {numbers.points(sum(scores) - taken)}. "
            "Feedback and exported tables have this, formgrader's own numbers do not."
        )
