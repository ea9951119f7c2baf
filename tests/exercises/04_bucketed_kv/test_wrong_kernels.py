"""Exercise 04's wrong kernels on the virtual GPU: each fails for its own reason, at its own line."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from common.build import Target
from grader import registry
from grader.device.virtual import VirtualSession
from grader.spec import Task
from grader.stages.build import ARCHITECTURE, build
from grader.stages.correctness import CaseRun, run_cases

EXERCISE = registry.find("04")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its tables are asked for by name.
TABLES = importlib.import_module("tests.exercises.04_bucketed_kv.wrong_kernels")
ALL = TABLES.MISTAKES | TABLES.CHEATS
ROUNDS = TABLES.rounds()
IN_ORDER = [name for names in ROUNDS for name in names]
PROCESSORS = 2


@dataclass
class Files:
    """The rounds' files, compiled while the tests before them run."""

    folder: Path
    pool: ThreadPoolExecutor
    building: dict[int, Future[Path]] = field(default_factory=dict)

    def library(self, number: int) -> Path:
        for each in range(number, min(number + PROCESSORS, len(ROUNDS))):
            if each not in self.building:
                self.building[each] = self.pool.submit(self._build, each)
        return self.building[number].result()

    def _build(self, number: int) -> Path:
        source = self.folder / f"round_{number}.cu"
        source.write_text(text_of(number))
        return library_of(source)


@functools.cache
def text_of(number: int) -> str:
    """The solution with every mistake of a round."""
    text = SOLUTION
    for name in ROUNDS[number]:
        text = ALL[name].source(text)
    return text


def library_of(source: Path) -> Path:
    """Nothing will be measured, so ptxas is not needed."""
    built = build(source, Target.virtual(ARCHITECTURE))
    assert built.library is not None, built.message
    return built.library


def runs_of(library: Path, part: str, names: tuple[str, ...]) -> list[CaseRun]:
    """The named cases of a step, or of the whole, as the correctness stage runs them."""
    task: Task = next((step for step in EXERCISE.steps if step.name == part), EXERCISE)
    cases = [(next(case for case in task.cases if case.name == name), True) for name in names]
    with VirtualSession(library) as session:
        return list(run_cases(task, session, cases, "the seed of the tests"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    with ThreadPoolExecutor(PROCESSORS) as pool:
        yield Files(tmp_path_factory.mktemp("rounds"), pool)


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(name: str, files: Files) -> None:
    wanted = ALL[name]
    number = next(number for number, names in enumerate(ROUNDS) if name in names)
    *before, last = runs_of(files.library(number), wanted.part, wanted.cases)
    assert all(run.result.passed for run in before)
    if not wanted.kind:
        assert last.result.reason == wanted.reason
        assert wanted.words in last.result.message
        return
    (line,) = (at for at, text in enumerate(text_of(number).splitlines(), 1) if wanted.line in text)
    found = {
        (finding.kind, place.line)
        for finding in last.report.findings
        for place in (*finding.place, *finding.other)
    }
    assert (wanted.kind, line) in found


def test_the_solution_passes_the_cases_that_show_mistakes() -> None:
    """Or a mistake would not be what fails there."""
    library = library_of(EXERCISE.solution)
    for part in {wanted.part for wanted in ALL.values()}:
        names = {name for wanted in ALL.values() if wanted.part == part for name in wanted.cases}
        for run in runs_of(library, part, tuple(sorted(names))):
            assert run.result.passed, run.result.message
            assert not run.report.findings


def test_there_are_wrong_kernels_enough() -> None:
    assert len(TABLES.MISTAKES) >= 12
