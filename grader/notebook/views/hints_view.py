"""Hints as a notebook shows them: folded, each opens by a click."""

from __future__ import annotations

from common.core.errors import CourseError
from grader.notebook.views.display import Display
from grader.render.pages.markup import tag
from grader.spec import Exercise


class Hints(Display):
    """All hints of an exercise, or the one with a number. At a terminal, the command that opens them."""

    def __init__(self, exercise: Exercise, number: int | None = None) -> None:
        total = len(exercise.hints)
        if total == 0:
            raise CourseError(f"{exercise.id} has no hints")
        if number is not None and (type(number) is not int or not 1 <= number <= total):
            raise CourseError(f"{exercise.id} has hints 1 to {total}, not {number!r}")
        chosen = range(1, total + 1) if number is None else (number,)
        super().__init__(
            f"`./course hint {exercise.number}` opens the {total} hints one by one.",
            *(
                tag(
                    "details",
                    tag("summary", f"Hint {which} of {total}"),
                    tag("p", exercise.hints[which - 1]),
                )
                for which in chosen
            ),
        )
