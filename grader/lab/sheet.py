"""The questions about each kernel of a lab, and their key."""

from __future__ import annotations

import tomllib

from common.core.errors import CourseError
from grader.lab.lab import EVIDENCE, FaultLab
from grader.spec.question import Accepted, Choice, Line, Prose, Question


def questions(lab: FaultLab) -> tuple[Question, ...]:
    """Fault, line and evidence give one point each."""
    made = []
    for kernel in lab.kernels:
        source = lab.source(kernel)
        line = Line(source.name, len(source.read_text().splitlines()))
        made += [
            Question(f"{kernel}.fault", "what is wrong", Choice(tuple(lab.faults))),
            Question(f"{kernel}.line", "the line to change", line),
            Question(f"{kernel}.evidence", "what gave it away", Choice(tuple(EVIDENCE))),
            Question(f"{kernel}.fix", "what you would write there", Prose()),
        ]
    return tuple(made)


def read_key(lab: FaultLab) -> dict[str, Accepted]:
    """The right answers for each kernel. Changing any one of the accepted lines fixes it."""
    if not lab.key.is_file():
        raise CourseError(f"there is no {lab.key}: answers are graded where the course's solutions are")
    key: dict[str, Accepted] = {}
    for kernel, entry in tomllib.loads(lab.key.read_text()).items():
        accepted = {"fault": [entry["fault"]], "line": entry["lines"], "evidence": entry["evidence"]}
        key |= {f"{kernel}.{name}": Accepted(dict.fromkeys(right, 1.0)) for name, right in accepted.items()}
    return key
