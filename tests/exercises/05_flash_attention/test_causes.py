"""Wrong kernels with one cause and several findings: the cause comes first, the others are folded into it."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.render import render_findings
from grader.spec import registry
from tests.exercises.rounds import Rounds, compiled_ahead, file_name, runs_of, task_of
from tests.exercises.wrong_kernel import Wrong

EXERCISE = registry.find("05")
SOLUTION = EXERCISE.solution.read_text()
SECTIONS = importlib.import_module("tests.exercises.05_flash_attention.sections")


@dataclass(frozen=True)
class OneCause(Wrong):
    """The first finding must be of this `kind`, at this `line`, and say these `words`. The other findings, of
    kinds `folded`, must follow from it."""

    case: str = "77 rows"
    kind: str = ""
    folded: tuple[str, ...] = ()


KEYS_READ = "load_matrices(b, keys + Row::place(row, 2 * step + lane / 8 % 2));"
QUERIES_READ = "load_matrices(queries[sixteen][step], shared + Row::place(row, 2 * step + lane / 16));"
COPIED = "copy_16_bytes_or_zeros_async(place, from, there);"
STORED = "*reinterpret_cast<uint32_t*>(mine + Row::place(row, tile) + 4 * t) ="
STAGE_READY = "        __syncthreads();  // the tile is there, and no warp needs the one before any more\n"
NEXT_TILE = "        fetch(i + kStages - 1, tiles);\n"
ONE_STAGE = (
    "        // END SOLUTION\n        __syncthreads();\n        attend(i);\n        __syncthreads();\n"
)
QUERIES_COMMITTED = "    commit_copies();\n    wait_for_copies<0>();\n    // END SOLUTION\n"
MEET = "wait, __syncthreads(), then use"
REFILLED = "A stage may be refilled only when every thread is done reading it"

KERNELS = {
    "no barrier after the wait": OneCause(
        old=STAGE_READY, new="", kind="race", line=KEYS_READ, words=MEET, folded=("async", "init", "race")
    ),
    "no barrier after the wait, at one row": OneCause(
        old=STAGE_READY, new="", case="one row", kind="race", line=KEYS_READ, words=MEET, folded=("race",)
    ),
    "a wait that is too lax": OneCause(
        old="wait_for_copies<kStages - 2>();",
        new="wait_for_copies<kStages - 1>();",
        kind="async",
        line=KEYS_READ,
        words="none was committed after this one before that wait, so N must be 0.",
        folded=("async", "race"),
    ),
    "no wait": OneCause(
        old="        wait_for_copies<kStages - 2>();\n",
        new="",
        kind="async",
        line=KEYS_READ,
        words="Wait for the copy's group before this line",
        folded=("async", "race"),
    ),
    "no commit": OneCause(
        old="    commit_copies();\n    // END SOLUTION\n  }\n",
        new="    // END SOLUTION\n  }\n",
        kind="async",
        line=KEYS_READ,
        words="Put commit_copies() behind the copies",
        folded=("async",),
    ),
    "the next tile fetched before the barrier": OneCause(
        old=f"        wait_for_copies<kStages - 2>();\n{STAGE_READY}{NEXT_TILE}",
        new=f"{NEXT_TILE}        wait_for_copies<kStages - 1>();\n{STAGE_READY}",
        kind="async",
        line=COPIED,
        words=REFILLED,
        folded=("async",),
    ),
    "no barrier behind the queries' copies": OneCause(
        old=f"{QUERIES_COMMITTED}    __syncthreads();\n",
        new=QUERIES_COMMITTED,
        kind="race",
        line=QUERIES_READ,
        words=MEET,
        folded=("init",),
    ),
    "no wait for the queries": OneCause(
        old=QUERIES_COMMITTED,
        new="    commit_copies();\n    // END SOLUTION\n",
        kind="async",
        line=QUERIES_READ,
        words="none was committed after this one, so N must be 0.",
        folded=("async",),
    ),
    "no barrier before the output": OneCause(
        old="    __syncthreads();  // the output goes where the tiles were\n",
        new="",
        kind="race",
        line=STORED,
        words="put __syncthreads() between the two accesses",
        folded=("race",),
    ),
    "a stage's number that never begins again": OneCause(
        old="number % kStages * Sizes::kStageBytes",
        new="number * Sizes::kStageBytes",
        kind="memory",
        line=COPIED,
        words="at the first byte past the end of dynamic shared memory",
        folded=("memory",),
    ),
    "rows past the end": OneCause(
        old="const bool there = first + i * kRowsAtOnce < left;",
        new="const bool there = true;",
        kind="memory",
        line=COPIED,
        words="past the end of keys",
        folded=("init",),
    ),
    "one stage, refilled too early": OneCause(
        old=ONE_STAGE,
        new=ONE_STAGE.removesuffix("        __syncthreads();\n"),
        part="asynchronous copies",
        case="77 rows, two heads",
        kind="async",
        line=COPIED,
        words=REFILLED,
        folded=("async",),
    ),
    "one stage, no barrier after the wait": OneCause(
        old=ONE_STAGE,
        new=ONE_STAGE.replace("        __syncthreads();\n", "", 1),
        part="asynchronous copies",
        case="77 rows, two heads",
        kind="race",
        line=KEYS_READ,
        words=MEET,
        folded=("race",),
    ),
    "one stage, no barrier after its stores": OneCause(
        old=ONE_STAGE,
        new=ONE_STAGE.replace("        __syncthreads();\n", "", 1),
        part="scores in registers",
        case="77 rows, two heads",
        kind="race",
        line=KEYS_READ,
        words="put __syncthreads() between the two accesses",
        folded=("race",),
    ),
}


def file_of() -> Any:
    asked = {
        name: SECTIONS.Asked(task_of(EXERCISE, one.part).entry, causal=False) for name, one in KERNELS.items()
    }
    return SECTIONS.file_of(SOLUTION, KERNELS, asked)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    with compiled_ahead(1, lambda number: file_of().text, tmp_path_factory.mktemp("rounds")) as made:
        yield made


@pytest.mark.parametrize("name", KERNELS)
def test_the_cause_comes_first_and_the_others_are_folded_into_it(name: str, rounds: Rounds) -> None:
    wanted, section = KERNELS[name], file_of().sections[name]
    task = dataclasses.replace(task_of(EXERCISE, wanted.part), entry=section.entry, known_mistakes={})
    (run,) = runs_of(rounds.library(0), task, (wanted.case,))
    (cause,) = by_cause(run.report.findings)
    first = cause.finding
    assert (first.kind, Path(first.file).name) == (wanted.kind, file_name(0))
    assert first.line == section.line_number(wanted.line)
    assert wanted.words in f"{first.message}. {first.advice}"
    assert {effect.kind for effect in cause.effects} == set(wanted.folded)
    text = render_findings(run.report.findings)
    assert f"{len(cause.effects)} more finding" in text
    if not run.result.passed:
        assert first.message in run.result.message
