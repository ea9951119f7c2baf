"""Feedback pages that show what the gradebook has now: those of changed submissions are written again.

grades/feedback/ASSIGNMENT/STUDENT    what a submission's pages were made from; written after them
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_whole
from grader.classes.dependencies import code_of
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.gradebook import opened
from grader.nbgrader.showing import markdown
from grader.nbgrader.term.apply import make_plan, settle_penalty
from grader.nbgrader.term.by_hand import keep_given
from grader.nbgrader.term.plan import Pair, read_term
from grader.spec.names import file_name


@dataclass
class Renewed:
    written: list[Pair] = field(default_factory=list)
    kept: list[Pair] = field(default_factory=list)
    problems: dict[Pair, str] = field(default_factory=dict)


def take_in_given(folder: ClassFolder, arguments: Sequence[str] = ()) -> None:
    """After people gave points: keep these in the class folder, and compute the penalties of late submissions
    from the points they have now."""
    from nbgrader.api import SubmittedAssignment

    plan = make_plan(folder, read_term(folder), ())
    with nbgrader_functions(folder, arguments) as functions, opened(functions) as book:
        for note in keep_given(folder, book, plan.ever_dropped):
            print(f"note: {note}", file=sys.stderr, flush=True)
        for one in book.db.query(SubmittedAssignment):
            settle_penalty(functions, one)
        book.db.commit()


def renew_feedback(
    folder: ClassFolder, pairs: Sequence[Pair], *, arguments: Sequence[str] = (), force: bool = False
) -> Renewed:
    """Write the pages of those submissions whose notebook, points, comments or penalty changed."""
    take_in_given(folder, arguments)
    done = Renewed()
    with nbgrader_functions(folder, arguments) as functions:
        with opened(functions) as book:
            keys = {pair: _key(folder, book, pair) for pair in pairs}
        for pair, key in keys.items():
            path = folder.grades / "feedback" / file_name(pair[1]) / file_name(pair[0])
            if not force and _read(path) == key and _pages(folder, pair):
                done.kept.append(pair)
                continue
            path.unlink(missing_ok=True)
            try:
                student, assignment = pair
                result = functions.generate_feedback(assignment, student, force=True)
                must_succeed(f"the feedback for {student}, {assignment},", result)
            except CourseError as problem:
                done.problems[pair] = str(problem)
                continue
            write_whole(path, key)
            done.written.append(pair)
    return done


def autograded(folder: ClassFolder, assignments: Sequence[str], students: Sequence[str] = ()) -> list[Pair]:
    """The students and assignments that have a graded notebook, in order."""
    found = sorted(folder.autograded.glob("*/*/*.ipynb"))
    pairs = [(path.parent.parent.name, path.parent.name) for path in found]
    return [(s, a) for s, a in dict.fromkeys(pairs) if a in assignments and (not students or s in students)]


def _key(folder: ClassFolder, book: Any, pair: Pair) -> str:
    from nbgrader.api import MissingEntry

    student, assignment = pair
    shown: list[Any] = [code_of(markdown.__name__)]
    for path in sorted((folder.autograded / student / assignment).glob("*.ipynb")):
        shown.append(hashlib.sha256(path.read_bytes()).hexdigest())
    with contextlib.suppress(MissingEntry):
        for notebook in book.find_submission(assignment, student).notebooks:
            shown.append(notebook.late_submission_penalty or 0)
            shown += sorted(
                [grade.name, grade.auto_score, grade.manual_score, grade.extra_credit, grade.max_score]
                for grade in notebook.grades
            )
            shown += sorted([one.name, one.auto_comment, one.manual_comment] for one in notebook.comments)
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def _pages(folder: ClassFolder, pair: Pair) -> list[Path]:
    return list((folder.root / "feedback" / pair[0] / pair[1]).glob("*.html"))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
