"""Grades small edits of a solution and finds those that nothing catches: what `mutants` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common.build.engine.build import build_engine
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import ClassRun, grade_all
from grader.classes.executor import UNGRADED
from grader.classes.submissions import Submission
from grader.devices.device import device_of, target_for
from grader.mutants.making import Mutant
from grader.mutants.reasons import Reasons
from grader.mutants.same_code import code_of
from grader.mutants.trial import lost_parts
from grader.records.record import Record
from grader.spec import Exercise

NO_BUILD = "does not compile"
SURVIVED = "survived"
SAME_CODE = "compiles to the same code"


@dataclass(frozen=True)
class Tried:
    """A mutant and what became of it: the part that it lost first, or one of the words above."""

    mutant: Mutant
    outcome: str
    record: Record


@dataclass(frozen=True)
class Table:
    """All that were tried. `survivors` have no reason; those that have one are `equal`."""

    tried: Sequence[Tried]
    reasons: Reasons

    @property
    def built(self) -> int:
        return sum(one.outcome != NO_BUILD for one in self.tried)

    @property
    def survivors(self) -> list[Tried]:
        return [one for one in self.tried if one.outcome == SURVIVED and not self.reasons.of(one.mutant)]

    @property
    def equal(self) -> list[Tried]:
        return [one for one in self.tried if one.outcome == SURVIVED and self.reasons.of(one.mutant)]

    @property
    def by_outcome(self) -> Counter[str]:
        return Counter(one.outcome for one in self.tried)


def try_all(run: ClassRun, exercise: Exercise, mutants: Sequence[Mutant], reasons: Reasons) -> Table:
    """Those tried before, from the same text, are kept."""
    build_engine()
    with scratch_folder() as scratch:
        submissions = [_written(mutant, exercise, scratch) for mutant in mutants]
        records = grade_all(run, submissions)
        outcomes = [outcome_of(record) for record in records]
        for number in _without_change(run, exercise, submissions, outcomes):
            outcomes[number] = SAME_CODE
    return Table(list(map(Tried, mutants, outcomes, records)), reasons)


def _without_change(
    run: ClassRun, exercise: Exercise, submissions: Sequence[Submission], outcomes: Sequence[str]
) -> list[int]:
    """Survivors whose code is the solution's: nothing can catch these."""
    survived = [number for number, outcome in enumerate(outcomes) if outcome == SURVIVED]
    target = target_for(device_of(run.device).virtual.target, exercise.arch)
    with ThreadPoolExecutor(run.jobs) as pool:
        original = pool.submit(code_of, exercise.solution, target)
        codes = list(pool.map(lambda number: code_of(submissions[number].source, target), survived))
    return [
        number
        for number, code in zip(survived, codes, strict=True)
        if code is not None and code == original.result()
    ]


def _written(mutant: Mutant, exercise: Exercise, scratch: Path) -> Submission:
    source = scratch / mutant.name / exercise.solution.name
    source.parent.mkdir()
    source.write_text(mutant.text)
    return Submission(mutant.name, exercise.id, source)


def outcome_of(record: Record) -> str:
    if record.verdict in (NO_BUILD, UNGRADED):
        return record.verdict
    lost = lost_parts(record)
    return lost[0].name if lost else SURVIVED
