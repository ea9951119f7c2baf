"""Exercise 05's wrong kernels on the virtual GPU: each fails for its own reason, at its own line."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from common.build import Target
from grader import registry
from grader.device.virtual import VirtualSession
from grader.evidence import Evidence
from grader.spec import Exercise, Step
from grader.stages.build import ARCHITECTURE, build
from grader.stages.correctness import CaseRun, run_cases

EXERCISE = registry.find("05")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its tables are asked for by name.
TABLES = importlib.import_module("tests.exercises.05_flash_attention.wrong_kernels")
SECTIONS = importlib.import_module("tests.exercises.05_flash_attention.sections")
ALL = TABLES.MISTAKES | TABLES.NOT_AS_ASKED | TABLES.CHEATS
EACH = 11  # wrong kernels in a file
ROUNDS = [tuple(ALL)[first : first + EACH] for first in range(0, len(ALL), EACH)]
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
        source.write_text(file_of(number).text)
        return library_of(source)


@functools.cache
def file_of(number: int) -> Any:
    """The wrong kernels of a round."""
    wrong = {name: ALL[name] for name in ROUNDS[number]}
    return SECTIONS.file_of(SOLUTION, wrong, {name: asked(name) for name in wrong})


def asked(name: str) -> Any:
    entry = task_of(ALL[name].part).entry
    return SECTIONS.Asked(entry, causal=any("causal" in case for case in ALL[name].cases))


def task_of(part: str) -> Exercise | Step:
    return next((step for step in EXERCISE.steps if step.name == part), EXERCISE)


def library_of(source: Path) -> Path:
    """Nothing will be measured, so ptxas is not needed."""
    built = build(source, Target.virtual(ARCHITECTURE))
    assert built.library is not None, built.message
    return built.library


def runs_of(library: Path, task: Exercise | Step, names: tuple[str, ...]) -> list[CaseRun]:
    """The named cases of a step, or of the whole, as the correctness stage runs them."""
    cases = [(next(case for case in task.cases if case.name == name), True) for name in names]
    with VirtualSession(library) as session:
        return list(run_cases(task, session, cases, "the seed of the tests"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    torch.set_num_threads(1)  # as the grader has it
    with ThreadPoolExecutor(PROCESSORS) as pool:
        yield Files(tmp_path_factory.mktemp("rounds"), pool)


@pytest.mark.parametrize("name", ALL)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(name: str, files: Files) -> None:
    wanted = ALL[name]
    number = next(number for number, names in enumerate(ROUNDS) if name in names)
    section = file_of(number).sections[name]
    task = task_of(wanted.part)
    # Guesses take longer than all the rest: none is made where none is asked for.
    guesses = {
        guess: deed for guess, deed in task.suspicions.items() if wanted.words and wanted.words in guess
    }
    task = dataclasses.replace(task, entry=section.entry, suspicions=guesses)
    *before, last = runs_of(files.library(number), task, wanted.cases)
    assert all(run.result.passed and not run.report.findings for run in before)
    if wanted.lacks:
        assert last.result.passed
        assert not last.report.findings
        lacks = lacking(task, wanted.cases[-1], last)
        assert list(lacks) == [wanted.lacks]
        if wanted.line:
            assert f"round_{number}.cu:{section.line_number(wanted.line)} " in lacks[wanted.lacks]
    elif wanted.kind:
        found = {
            (finding.kind, Path(place.file).name, place.line)
            for finding in last.report.findings
            for place in (*finding.place, *finding.other)
        }
        assert (wanted.kind, f"round_{number}.cu", section.line_number(wanted.line)) in found
    else:
        assert last.result.reason == wanted.reason
        assert wanted.words in last.result.message


def lacking(task: Exercise | Step, case: str, run: CaseRun) -> dict[str, str]:
    """Names of the mechanisms that are not there, and what is said of each."""
    sizes = next(each for each in task.cases if each.name == case)
    evidence = Evidence(sizes, run.report.launches, resources=())
    looked = {mechanism.name: mechanism.look(evidence) for mechanism in task.mechanisms}
    return {name: told for name, told in looked.items() if told is not None}


def test_the_solution_passes_the_cases_that_show_mistakes() -> None:
    """Or a mistake would not be what fails there."""
    library = library_of(EXERCISE.solution)
    for part in {wanted.part for wanted in ALL.values()}:
        names = {name for wanted in ALL.values() if wanted.part == part for name in wanted.cases}
        for run in runs_of(library, task_of(part), tuple(sorted(names))):
            assert run.result.passed, run.result.message
            assert not run.report.findings


def test_there_are_wrong_kernels_enough() -> None:
    assert len(TABLES.MISTAKES) >= 12
