"""Wrong kernels, several to a file: a round is a source with some of an exercise's mistakes in it. Rounds are
compiled ahead, while the tests before them run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common.build.program import Target
from grader.building.build import build
from grader.devices.on_virtual.session import VirtualSession
from grader.pipeline.judging.cases import CaseRun, run_cases
from grader.spec import Exercise, Step

_AHEAD = 2  # as many as a small machine has processors


@dataclass
class Rounds:
    """The libraries of all rounds; `text_of` makes a round's source."""

    count: int
    text_of: Callable[[int], str]
    folder: Path
    pool: ThreadPoolExecutor
    building: dict[int, Future[Path]] = field(default_factory=dict)

    def library(self, number: int) -> Path:
        for each in range(number, min(number + _AHEAD, self.count)):
            if each not in self.building:
                self.building[each] = self.pool.submit(self._build, each)
        return self.building[number].result()

    def _build(self, number: int) -> Path:
        source = self.folder / file_name(number)
        source.write_text(self.text_of(number))
        return library_of(source)


def file_name(number: int) -> str:
    return f"round_{number}.cu"


@contextmanager
def compiled_ahead(count: int, text_of: Callable[[int], str], folder: Path) -> Iterator[Rounds]:
    with ThreadPoolExecutor(_AHEAD) as pool:
        yield Rounds(count, text_of, folder, pool)


def library_of(source: Path) -> Path:
    """Nothing will be measured, so ptxas is not needed."""
    built = build(source, Target.virtual())
    assert built.library is not None, built.message
    return built.library


def task_of(exercise: Exercise, part: str) -> Exercise | Step:
    """The step of this name, or the whole."""
    return next((step for step in exercise.steps if step.name == part), exercise)


def guessing(task: Exercise | Step, words: str) -> Exercise | Step:
    """The same, without its guesses at what went wrong where `words` are of none of them: guesses take longer
    than all the rest."""
    guessed = words.rpartition("It looks like this: ")[2]
    asked = guessed and any(guessed in guess for guess in task.known_mistakes)
    return task if asked else dataclasses.replace(task, known_mistakes={})


def runs_of(library: Path, task: Exercise | Step, names: tuple[str, ...]) -> list[CaseRun]:
    """The named cases, as the correctness stage runs them."""
    cases = [(next(case for case in task.cases if case.name == name), True) for name in names]
    with VirtualSession(library) as session:
        return list(run_cases(task, session, cases, "the seed of the tests"))


def must_be_right(library: Path, exercise: Exercise, shown_by: Iterator[tuple[str, tuple[str, ...]]]) -> None:
    """In the cases of each part that show mistakes; or a mistake would not be what fails there."""
    wanted: dict[str, set[str]] = {}
    for part, names in shown_by:
        wanted.setdefault(part, set()).update(names)
    for part, cases in wanted.items():
        for run in runs_of(library, task_of(exercise, part), tuple(sorted(cases))):
            assert run.result.passed, run.result.message
            assert not run.report.findings
