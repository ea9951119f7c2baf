"""A block's second tile is seen at any number of blocks per SM."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.devices.device import VirtualDevice
from grader.spec import registry
from grader.spec.random_inputs import Random

EXERCISE = registry.find("05")
BARRIER = "    __syncthreads();  // the next tile's queries go where this one's output was\n"


@pytest.mark.parametrize("blocks", [5, 8])
def test_a_missing_barrier_between_tiles_is_found(tmp_path: Path, blocks: int):
    text = EXERCISE.solution.read_text()
    assert text.count(BARRIER) == 1
    source = tmp_path / "kernel.cu"
    source.write_text(text.replace(BARRIER, ""))
    device = VirtualDevice()
    (case,) = (one for one in EXERCISE.cases if one.name == "more heads than blocks at once")
    built = device.compile(source, tmp_path / "built", [f"BLOCKS_PER_SM={blocks}"])
    with device.session(built) as session:
        outcome = session.run(EXERCISE.entry, EXERCISE.inputs(case.size, Random("tiles")), 60.0)
    (launch,) = outcome.report.launches
    assert launch.grid[0] < case.size.batch * case.size.heads
    assert "async" in {finding.kind for finding in outcome.report.findings}, outcome.message
