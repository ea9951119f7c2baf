"""What a finding about an mbarrier advises follows from what was counted of it: bytes, arrivals by thread,
phases that each warp has seen."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.report import Finding
from common.virtual_gpu.session import run_program
from grader.building.build import HEADERS

SOURCE = Path(__file__).parent / "hopper" / "mistakes.cu"
HANGS = {
    "kMoreBytes": "expect_tx announces 1024 bytes more at full[+0 bytes] (mistakes.cu:",
    "kFewerBytes": "The copies bring 1008 bytes more to full[+0 bytes] than expect_tx announces",
    "kFewerBytesOfTwo": "The copies bring 496 bytes more to full[+0 bytes] than expect_tx announces",
    "kOtherBarrier": "bring their bytes to empty[+0 bytes], and expect_tx announces bytes at full[+0 bytes]",
    "kNoCopy": "no copy that names this barrier was started",
    "kTwoAnnounce": "expect_tx announces 1024 bytes more at full[+0 bytes]",
    "kOnlyExpects": "mbarrier.expect_tx is no arrival",
    "kCountsOneMore": "counts 1 arrival more for empty[+0 bytes] than threads arrive, which are 4",
    "kCountsOneFewer": "4 threads arrive at empty[+0 bytes], and mbarrier.init counts 3 arrivals",
    "kEveryLane": "128 threads arrive at empty[+0 bytes], and mbarrier.init counts 4 arrivals",
    "kParityAhead": "has not yet seen the end of phase 0, which is over: a wait for that one has parity 0",
    "kBothWait": "nobody has arrived at either barrier",
    "kNoConsumer": "ever arrived at empty[+0 bytes], and warps 1-4 ended without it",
    "kNeverReleases": "No thread has ever arrived at empty[+0 bytes]: ",
    "kOneRoundMore": "All arrivals at full[+0 bytes] have come for the 4 phases before",
    "kOneWarpLeaves": "those of warp 3 have not arrived in phase 1",
}
OTHERS = {
    "kEveryLane": ("sync", "32 lanes of warp 1 arrive", "let one lane arrive for its warp"),
    "kTwoAnnounce": ("sync", "has had all of its 1 arrival", "let one thread alone announce the bytes"),
    "kNobodyWaits": ("async", "no thread has ever waited for its mbarrier", "Is their part of the kernel"),
    "kParityBehind": ("async", "another copy in flight", "wait for the end of phase 0, with parity 0"),
    "kCountsOneFewer": ("async", "may still read", "4 threads arrive while mbarrier.init counts 3 arrivals"),
    "kArrivesEarly": ("async", "may still read", "arrived there before it was done"),
    "kOneWarpNeverArrives": ("async", "may still read", "at which no thread of warp 4 arrives"),
}


@cache
def findings(mistake: str) -> tuple[Finding, ...]:
    built = build_program([SOURCE], Target.virtual("90a"), include_dirs=(HEADERS,), host_optimisation="-O1")
    ran = run_program(built.path, [mistake], timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return ran.report.findings


def line_of(text: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_the_ring_without_a_mistake_is_silent() -> None:
    assert findings("kNone") == ()


@pytest.mark.parametrize("mistake", HANGS)
def test_a_hang_names_the_likely_mistake(mistake: str) -> None:
    (hang,) = (found for found in findings(mistake) if found.kind == "hang")
    assert HANGS[mistake] in hang.advice


@pytest.mark.parametrize("mistake", OTHERS)
def test_an_early_copy_or_a_surplus_arrival_names_it_too(mistake: str) -> None:
    kind, said, advised = OTHERS[mistake]
    found = [each for each in findings(mistake) if each.kind == kind and said in each.message]
    assert any(advised.lower() in each.advice.lower() for each in found), found


def test_a_hang_is_placed_where_threads_wait_for_what_is_wrong() -> None:
    """Producer and consumers both wait: the bytes are wrong at the barrier that the consumers wait for."""
    (hang,) = findings("kMoreBytes")
    assert hang.line == line_of("full.wait(i & 1)")
    (hang,) = findings("kCountsOneMore")
    assert hang.line == line_of("empty.wait(parity)")


def test_a_barrier_without_a_name_is_told_by_the_line_that_initialises_it() -> None:
    (hang,) = findings("kUnnamed")
    made = f"(initialised at mistakes.cu:{line_of('unnamed->init(1)')})"
    assert made in hang.message
    assert made in hang.advice
