"""What a lab asks about each of its kernels, and the key to it."""

from __future__ import annotations

import tomllib

from common.core.errors import CourseError
from grader.lab.lab import EVIDENCE, FaultLab
from grader.spec.question import Accepted, Choice, Line, Prose, Question


def questions(lab: FaultLab) -> tuple[Question, ...]:
    """A point each for the fault, the line and the evidence."""
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
    """What is right about each kernel. Any of its lines can be changed to mend it."""
    path = lab.solutions / "key.toml"
    if not path.is_file():
        raise CourseError(f"there is no {path}: answers are graded where the course's solutions are")
    key: dict[str, Accepted] = {}
    for kernel, entry in tomllib.loads(path.read_text()).items():
        accepted = {"fault": [entry["fault"]], "line": entry["lines"], "evidence": entry["evidence"]}
        key |= {f"{kernel}.{name}": Accepted(dict.fromkeys(right, 1.0)) for name, right in accepted.items()}
    return key
