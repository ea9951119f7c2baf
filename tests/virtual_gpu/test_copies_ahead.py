"""What the virtual GPU counts of waits for cp.async: how much was waited for, and how much of that had come
beside products. Hardware has no such counter, so these figures follow from what the kernels do."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.report import Launch
from common.virtual_gpu.session import run_program
from grader.building.build import HEADERS

SOURCE = Path(__file__).parent / "copies_ahead" / "copies_ahead.cu"
KERNELS = ("double_buffered", "waits_for_all", "waits_at_once", "commits_late", "empty_groups")
TILES, TILE_BYTES = 5, 512
ALL = TILES * TILE_BYTES


@cache
def launches() -> dict[str, Launch]:
    built = build_program([SOURCE], Target.virtual("90"), include_dirs=[HEADERS])
    ran = run_program(built.path, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.stdout == "cudaSuccess\n", ran.stdout + ran.stderr
    assert ran.report.findings == ()
    return dict(zip(KERNELS, ran.report.launches, strict=True))


@pytest.mark.parametrize(
    ("kernel", "waits", "waited", "ahead"),
    [
        # The last wait is for zeros alone: copies, but of nothing.
        ("double_buffered", TILES + 1, ALL, ALL - TILE_BYTES),
        ("waits_for_all", TILES, ALL, 0),
        ("waits_at_once", TILES, ALL, 0),
        ("commits_late", TILES + 1, ALL, ALL - TILE_BYTES),
        ("empty_groups", 0, 0, 0),
    ],
)
def test_what_travels_beside_products_is_counted(kernel: str, waits: int, waited: int, ahead: int) -> None:
    counters = launches()[kernel].counters
    seen = (counters.async_waits, counters.async_waited_bytes, counters.async_ahead_bytes)
    assert seen == (waits, waited, ahead)


def test_what_travels_beside_stores_is_counted_where_a_wait_came_between() -> None:
    """The kernels of copies_ahead.cu store once, at their end, when nothing is in flight any more."""
    assert all(launch.counters.async_overlapped_bytes == 0 for launch in launches().values())


@pytest.mark.parametrize("kernel", KERNELS)
def test_counts_stand_at_the_lines_that_wait(kernel: str) -> None:
    source = SOURCE.read_text().splitlines()
    launch = launches()[kernel]
    at = [line for line in launch.lines if line.counters.async_waits]
    assert all("wait_for_" in source[line.line - 1] for line in at)
    assert sum(line.counters.async_waited_bytes for line in at) == launch.counters.async_waited_bytes
