"""Writes the points of many submissions: batches in one transaction each, made by as many processes as there
are cores.

grades/written/ASSIGNMENT/STUDENT    what a submission's points in the gradebook were made from; written last,
                                     so that a run which was killed only ever writes the same points again
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from common.build.compile import parallel_jobs
from common.core.errors import CourseError
from common.core.files import write_whole
from grader.classes.progress import run_progress
from grader.nbgrader.apps import must_succeed
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.marks.batch import add_missing, one_transaction
from grader.nbgrader.marks.spread import one_at_a_time, spread
from grader.nbgrader.term.apply import Plan, settle
from grader.nbgrader.term.by_hand import read_given
from grader.nbgrader.term.plan import Pair
from grader.records.record import Record
from grader.spec.names import file_name

_MOST = 200  # submissions in one transaction: what all share is asked for once in each
_WORTH = 50  # submissions, for which another process is worth its start
LOST = "the process that wrote its points was ended: `autograde` again writes them"


def written_path(folder: ClassFolder, pair: Pair) -> Path:
    student, assignment = pair
    return folder.grades / "written" / file_name(assignment) / file_name(student)


def write_points(
    plan: Plan, keys: Mapping[Pair, str], records: Mapping[Pair, Record], functions: Any
) -> dict[Pair, str]:
    """Let nbgrader write the points of these; returns problems by submission."""
    problems: dict[Pair, str] = {}
    if not keys:
        return problems
    folder, given = plan.folder, read_given(plan.folder)
    processes = min(parallel_jobs(), math.ceil(len(keys) / _WORTH))
    committing: AbstractContextManager[Any] = nullcontext()
    if processes > 1:
        # Else the first batch to add one would keep the others from theirs until its end.
        add_missing(functions, keys)
        committing = one_at_a_time()

    def settled(pair: Pair) -> None:
        settle(plan, functions, functions.gradebook, pair, given)

    def written(batch: Sequence[Pair]) -> dict[Pair, str]:
        for pair in batch:
            # A run killed in between must not leave new points under an old key.
            written_path(folder, pair).unlink(missing_ok=True)
        return _write_batch(batch, records, functions, settled, committing)

    with run_progress(len(keys)) as progress:
        for batch, failed in spread(list(_batches(list(keys), processes)), written, processes):
            for pair in batch:
                problem = LOST if failed is None else failed.get(pair)
                if problem is None:
                    write_whole(written_path(folder, pair), keys[pair])
                else:
                    problems[pair] = problem
                progress.finished(" ".join(pair), "points not written" if problem else "points written")
    return problems


def _batches(pairs: Sequence[Pair], processes: int) -> Iterator[Sequence[Pair]]:
    size = min(_MOST, math.ceil(len(pairs) / processes))
    for first in range(0, len(pairs), size):
        yield pairs[first : first + size]


def _write_batch(
    batch: Sequence[Pair],
    records: Mapping[Pair, Record],
    functions: Any,
    then: Callable[[Pair], None],
    committing: AbstractContextManager[Any],
) -> dict[Pair, str]:
    """In one transaction. Where one of them fails, each is written by itself, and problems are returned."""
    try:
        at_hand = {pair: records[pair] for pair in batch if pair in records}
        with one_transaction(functions, batch, at_hand, committing):
            for student, assignment in batch:
                must_succeed("nbgrader", functions.autograde(assignment, student, force=True, create=True))
                then((student, assignment))
        return {}
    except CourseError as problem:
        if len(batch) == 1:
            return {batch[0]: str(problem)}
    problems: dict[Pair, str] = {}
    for pair in batch:
        problems |= _write_batch([pair], records, functions, then, committing)
    return problems
