"""One part of the points as a notebook shows it, with its reason. It does not decide points."""

from __future__ import annotations

from grader.notebook.views.check_view import Check, Untouched
from grader.notebook.views.display import Display, Earning, cut
from grader.records.record import PartResult
from grader.render.pages.markup import tag
from grader.words import numbers

_STOPS = (
    "check() stops at the first case that fails. Grading runs them all, and this part may then earn more or "
    "less."
)


class PartView(Earning):
    """A part's row of a check. `points` are those so far."""

    def __init__(self, name: str, most: float, checked: Display) -> None:
        part = _row(name, most, checked)
        self.points = part.points
        headline = f"{name}: {numbers.points_of(part.points, part.max_points)} points"
        why = cut(part.message, 1200)
        more = _STOPS if isinstance(checked, Check) and not checked.passed and name == "correct" else ""
        kind = "good" if part.points >= most else "doubt" if part.points > 0 else "bad"
        super().__init__(
            "\n".join(filter(None, (f"{headline}: {why}", more))),
            tag("p", tag("span", headline, class_=kind), f": {why}"),
            tag("p", more, class_="faint") if more else None,
        )


def _row(name: str, most: float, checked: Display) -> PartResult:
    """The part's result; nothing earned for an untouched starter, which has no record."""
    if isinstance(checked, Untouched):
        return PartResult(name, 0.0, most, checked.sentence)
    parts = checked.record.parts if isinstance(checked, Check) else ()
    found = next((part for part in parts if part.name == name), None)
    return found or PartResult(name, 0.0, most, "not checked: see check() for what comes before it")
