"""Exercise 05's wrong kernels on the virtual GPU: each fails for its own reason, at its own line."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.pipeline.judging.cases import CaseRun
from grader.spec import Exercise, Step, registry
from grader.spec.evidence import Evidence
from tests.exercises.rounds import (
    Rounds,
    compiled_ahead,
    file_name,
    guessing,
    library_of,
    must_be_right,
    runs_of,
    task_of,
)

EXERCISE = registry.find("05")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its tables are asked for by name.
TABLES = importlib.import_module("tests.exercises.05_flash_attention.wrong_kernels")
SECTIONS = importlib.import_module("tests.exercises.05_flash_attention.sections")
ALL = TABLES.MISTAKES | TABLES.NOT_AS_ASKED | TABLES.CHEATS
EACH = 11  # wrong kernels in a file
ROUNDS = [tuple(ALL)[first : first + EACH] for first in range(0, len(ALL), EACH)]


@functools.cache
def file_of(number: int) -> Any:
    """The wrong kernels of a round."""
    wrong = {name: ALL[name] for name in ROUNDS[number]}
    return SECTIONS.file_of(SOLUTION, wrong, {name: asked(name) for name in wrong})


def asked(name: str) -> Any:
    entry = task_of(EXERCISE, ALL[name].part).entry
    return SECTIONS.Asked(entry, causal=any("causal" in case for case in ALL[name].cases))


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    torch.set_num_threads(1)  # as the grader has it
    folder = tmp_path_factory.mktemp("rounds")
    with compiled_ahead(len(ROUNDS), lambda number: file_of(number).text, folder) as made:
        yield made


@pytest.mark.parametrize("name", ALL)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(name: str, rounds: Rounds) -> None:
    wanted = ALL[name]
    number = next(number for number, names in enumerate(ROUNDS) if name in names)
    section = file_of(number).sections[name]
    task = dataclasses.replace(guessing(task_of(EXERCISE, wanted.part), wanted.words), entry=section.entry)
    *before, last = runs_of(rounds.library(number), task, wanted.cases)
    assert all(run.result.passed and not run.report.findings for run in before)
    if wanted.lacks:
        assert last.result.passed
        assert not last.report.findings
        lacks = lacking(task, wanted.cases[-1], last)
        assert list(lacks) == [wanted.lacks]
        if wanted.line:
            assert f"{file_name(number)}:{section.line_number(wanted.line)} " in lacks[wanted.lacks]
    elif wanted.kind:
        found = {
            (finding.kind, Path(place.file).name, place.line)
            for finding in last.report.findings
            for place in (*finding.place, *finding.other)
        }
        assert (wanted.kind, file_name(number), section.line_number(wanted.line)) in found
    else:
        assert last.result.reason == wanted.reason
        assert wanted.words in last.result.message


def lacking(task: Exercise | Step, case: str, run: CaseRun) -> dict[str, str]:
    """Names of the mechanisms that are not there, and what is said of each."""
    sizes = next(each for each in task.cases if each.name == case)
    evidence = Evidence(sizes, run.report.launches, resources=())
    looked = {mechanism.name: mechanism.look(evidence) for mechanism in task.mechanisms}
    return {name: stated for name, stated in looked.items() if stated is not None}


def test_the_solution_passes_the_cases_that_show_mistakes() -> None:
    must_be_right(library_of(EXERCISE.solution), EXERCISE, ((one.part, one.cases) for one in ALL.values()))


def test_there_are_wrong_kernels_enough() -> None:
    assert len(TABLES.MISTAKES) >= 12
