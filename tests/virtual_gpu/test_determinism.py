"""Two runs give the same bits, whatever the number of CPU threads: output, counters, findings."""

from __future__ import annotations

from typing import Any

import pytest

from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.hostile.runner import run

RUNS = [1, 2, 4, 1, 2, 4]  # CPU threads
CASES = {
    "defined": "float atomics, tickets, last block, look-back, shuffles, printf",
    "racy": "blocks that race for the same words with plain loads and stores",
    "undefined": "registers that nobody set, atomics of two kinds on one word",
    "found": "findings of many blocks",
    "print_too_much": "more text than the buffer holds",
    "traps": "several blocks trap",
    "loops": "several blocks never end",
}


def outcome(ran: RunReport) -> dict[str, Any]:
    """All that a run shows, but for the time it took and the options it ran with."""
    report = ran.report.to_dict()
    for part in (*report["launches"], *report["kernels"], report["totals"]):
        part.pop("wall_seconds", None)
    del report["options"]
    return {"status": ran.status, "stdout": ran.stdout, **report}


@pytest.mark.parametrize("case", CASES)
def test_runs_agree_in_every_bit(case):
    first, *others = (
        outcome(run("determinism", case, threads=threads, max_warp_instructions=1_000_000))
        for threads in RUNS
    )
    for other in others:
        assert other == first


def test_the_first_failing_block_speaks_for_the_launch():
    for threads in (1, 4):
        ran = run("determinism", "traps", threads=threads)
        (finding,) = ran.report.findings
        assert (finding.kind, finding.block, finding.count) == ("trap", (7, 0, 0), 1)
        ran = run("determinism", "loops", threads=threads, max_warp_instructions=1_000_000)
        (finding,) = ran.report.findings
        assert (finding.kind, finding.block, finding.count) == ("hang", (3, 0, 0), 1)


def test_lost_output_is_said_and_ends_with_a_whole_line():
    lines = run("determinism", "print_too_much").stdout.splitlines()
    assert lines[-2:] == ["[device printf buffer full: later output is lost]", "print: cudaSuccess"]
    assert lines[0] == "block 0 thread 0 turn 0: the buffer cannot hold all of this text"
    assert all(line.endswith("of this text") for line in lines[:-2])
    numbers = [int(line.split()[1]) for line in lines[:-2]]
    assert numbers == sorted(numbers)
